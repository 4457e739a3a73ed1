//! Python's `uuid` module: `UUID`, and the ids made from names. The random ones are refused.

use md5::Md5;
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use sha1::{Digest, Sha1};

use super::{
    Args, CmpOp, HashKey, Interp, PyErr, PyObject, PyResult, Sig, Value, as_bigint, downcast, function, int, module,
    none, object, text, type_name,
};

/// A `UUID`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Uuid(u128);

/// The module.
pub fn uuid_module() -> Value {
    module("uuid", false, attribute)
}

/// The class `UUID`.
#[derive(Debug)]
struct UuidClass;

impl PyObject for UuidClass {
    fn type_name(&self) -> &str {
        "type"
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok("<class 'uuid.UUID'>".into())
    }

    fn is_callable(&self) -> bool {
        true
    }

    fn call(&self, args: &Args<'_>, it: &mut dyn Interp) -> PyResult {
        construct(args, it).map(object)
    }
}

fn attribute(name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
    const NAMESPACE: u128 = 0x6ba7_b810_9dad_11d1_80b4_00c0_4fd4_30c8;
    Some(Ok(match name {
        "UUID" => object(UuidClass),
        "NAMESPACE_DNS" => object(Uuid(NAMESPACE)),
        "NAMESPACE_URL" => object(Uuid(NAMESPACE + (1 << 96))),
        "NAMESPACE_OID" => object(Uuid(NAMESPACE + (2 << 96))),
        "NAMESPACE_X500" => object(Uuid(NAMESPACE + (4 << 96))),
        "uuid3" => function("uuid3", |args, _it| named("uuid3", args, 3)),
        "uuid5" => function("uuid5", |args, _it| named("uuid5", args, 5)),
        "uuid1" | "uuid4" => {
            return Some(Ok(function("uuid4", |_args, _it| {
                Err(PyErr::unsupported("a random UUID: the text would differ at each rendering")
                    .with_hint("`macros.uuid.uuid5(macros.uuid.NAMESPACE_URL, run_id)` gives one that stays"))
            })));
        }
        "RESERVED_NCS" => Value::from("reserved for NCS compatibility"),
        "RFC_4122" => Value::from("specified in RFC 4122"),
        "RESERVED_MICROSOFT" => Value::from("reserved for Microsoft compatibility"),
        "RESERVED_FUTURE" => Value::from("reserved for future definition"),
        "getnode" | "SafeUUID" | "Enum" | "os" | "sys" | "platform" | "main" | "bytes_" | "int_" => {
            return Some(Err(PyErr::unsupported(format!("uuid.{name}"))));
        }
        _ => return None,
    }))
}

fn with_version(value: u128, version: u128) -> u128 {
    let variant = value & !(0xc000_u128 << 48) | (0x8000_u128 << 48);
    variant & !(0xf000_u128 << 64) | (version << 76)
}

/// `uuid3(namespace, name)` and `uuid5(namespace, name)`
fn named(function: &str, args: &Args<'_>, version: u128) -> PyResult {
    let bound = Sig::new(function, &["namespace", "name"]).bind(args)?;
    let namespace = bound.first().copied().flatten().cloned().unwrap_or_default();
    let name = bound.get(1).copied().flatten().cloned().unwrap_or_default();
    let Some(space) = downcast::<Uuid>(&namespace) else {
        return Err(PyErr::attribute_error(format!("'{}' object has no attribute 'bytes'", type_name(&namespace))));
    };
    let Some(name) = text(&name) else {
        return Err(PyErr::type_error("encoding without a string argument"));
    };
    let mut bytes = space.0.to_be_bytes().to_vec();
    bytes.extend(name.as_bytes());
    let digest: Vec<u8> = if version == 3 { Md5::digest(&bytes).to_vec() } else { Sha1::digest(&bytes).to_vec() };
    let value = digest.iter().take(16).fold(0_u128, |value, byte| value << 8 | u128::from(*byte));
    Ok(object(Uuid(with_version(value, version))))
}

/// `UUID(hex=None, bytes=None, bytes_le=None, fields=None, int=None, version=None)`
fn construct(args: &Args<'_>, it: &mut dyn Interp) -> PyResult<Uuid> {
    let names = ["hex", "bytes", "bytes_le", "fields", "int", "version"];
    let bound = Sig::new("UUID.__init__", &names).required(0).keyword_only(&["is_safe"]).method().bind(args)?;
    let get = |at: usize| bound.get(at).copied().flatten().filter(|value| !value.is_none());
    let given = (0..5).filter(|at| get(*at).is_some()).count();
    if given != 1 {
        return Err(PyErr::type_error("one of the hex, bytes, bytes_le, fields, or int arguments must be given"));
    }
    let mut value = if let Some(hex) = get(0) {
        let Some(text) = text(hex) else {
            return Err(PyErr::attribute_error(format!("'{}' object has no attribute 'replace'", type_name(hex))));
        };
        let text = text.replace("urn:", "").replace("uuid:", "");
        let text = text.trim_matches(['{', '}']).replace('-', "");
        if text.chars().count() != 32 {
            return Err(PyErr::value_error("badly formed hexadecimal UUID string"));
        }
        let parsed = super::parse_int(&text, 16)?;
        as_bigint(&parsed).and_then(|big| big.to_u128()).ok_or_else(|| PyErr::unsupported("a UUID of such digits"))?
    } else if let Some(number) = get(4) {
        let big = as_bigint(number).ok_or_else(|| PyErr::unsupported("a UUID of something that is no int"))?;
        big.to_u128().ok_or_else(|| PyErr::value_error("int is out of range (need a 128-bit value)"))?
    } else {
        return Err(PyErr::unsupported("a UUID of bytes or fields"));
    };
    if let Some(version) = get(5) {
        let version = version.as_i64().filter(|version| (1..=5).contains(version));
        value = with_version(value, version.ok_or_else(|| PyErr::value_error("illegal version number"))? as u128);
    }
    let _ = it;
    Ok(Uuid(value))
}

impl Uuid {
    fn text(self) -> String {
        let hex = format!("{:032x}", self.0);
        let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default().to_owned();
        [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
    }

    fn variant(self) -> &'static str {
        let bits = (self.0 >> 61) & 7;
        match bits {
            0..=3 => "reserved for NCS compatibility",
            4 | 5 => "specified in RFC 4122",
            6 => "reserved for Microsoft compatibility",
            _ => "reserved for future definition",
        }
    }
}

impl PyObject for Uuid {
    fn type_name(&self) -> &str {
        "UUID"
    }

    fn qualified_name(&self) -> String {
        "uuid.UUID".into()
    }

    fn repr(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(format!("UUID('{}')", self.text()))
    }

    fn str(&self, _it: &mut dyn Interp) -> PyResult<String> {
        Ok(self.text())
    }

    fn getattr(&self, name: &str, _it: &mut dyn Interp) -> Option<PyResult> {
        let bits = |shift: u32, width: u32| int(BigUint::from(self.0 >> shift & ((1_u128 << width) - 1)));
        Some(Ok(match name {
            "hex" => Value::from(format!("{:032x}", self.0)),
            "int" => int(BigUint::from(self.0)),
            "urn" => Value::from(format!("urn:uuid:{}", self.text())),
            "bytes" => Value::from_bytes(self.0.to_be_bytes().to_vec()),
            "version" if self.variant() == "specified in RFC 4122" => bits(76, 4),
            "version" => none(),
            "variant" => Value::from(self.variant()),
            "time_low" => bits(96, 32),
            "time_mid" => bits(80, 16),
            "time_hi_version" => bits(64, 16),
            "clock_seq_hi_variant" => bits(56, 8),
            "clock_seq_low" => bits(48, 8),
            "node" => bits(0, 48),
            "clock_seq" => int(BigUint::from((self.0 >> 56 & 0x3f) << 8 | self.0 >> 48 & 0xff)),
            "time" => int(BigUint::from((self.0 >> 64 & 0x0fff) << 48 | (self.0 >> 80 & 0xffff) << 32 | self.0 >> 96)),
            "bytes_le" | "fields" | "is_safe" => {
                return Some(Err(PyErr::unsupported(format!("the attribute '{name}' of a UUID"))));
            }
            _ => return None,
        }))
    }

    fn compare(&self, op: CmpOp, other: &Value, _it: &mut dyn Interp) -> Option<PyResult<bool>> {
        let other = downcast::<Uuid>(other)?;
        Some(Ok(match op {
            CmpOp::Eq => self == other,
            CmpOp::Ne => self != other,
            CmpOp::Lt => self < other,
            CmpOp::Le => self <= other,
            CmpOp::Gt => self > other,
            CmpOp::Ge => self >= other,
        }))
    }

    fn hash_key(&self) -> PyResult<HashKey> {
        Ok(HashKey::Parts("uuid", vec![HashKey::BigInt(BigUint::from(self.0).into())]))
    }
}
