//! Hash keys, and CPython's hash values where they decide an order.

use std::hash::{Hash, Hasher};

use indexmap::Equivalent;
use num_bigint::BigInt;
use num_integer::Integer as _;
use num_traits::{Signed as _, ToPrimitive as _};

use super::guard::Hashing;
use super::number::{self, Num};
use super::{HashKey, PyResult, Value, View, view};

/// The key under which a dict or set files a value; unhashable values raise `TypeError`.
pub fn hash_key(value: &Value) -> PyResult<HashKey> {
    Ok(match view(value) {
        View::None => HashKey::None,
        View::Str(text) => HashKey::Str(text.into()),
        View::Bytes(bytes) => HashKey::Bytes(bytes.into()),
        View::Object(object) => {
            let _hashing = Hashing::enter()?;
            return object.hash_key();
        }
        View::Bool(_) | View::Int(_) | View::Float(_) => number::number_key(Num::of(value).unwrap_or(Num::Int(0))),
        View::Foreign => HashKey::Str(value.to_string().into()),
    })
}

impl Hash for HashKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            HashKey::None => state.write_u8(0),
            HashKey::Int(int) => {
                state.write_u8(1);
                state.write_i64(*int);
            }
            HashKey::BigInt(int) => {
                state.write_u8(2);
                int.hash(state);
            }
            HashKey::Float(bits) => {
                state.write_u8(3);
                state.write_u64(*bits);
            }
            HashKey::Str(text) => StrKey(text).hash(state),
            HashKey::Bytes(bytes) => {
                state.write_u8(5);
                bytes.hash(state);
            }
            HashKey::Tuple(items) => {
                state.write_u8(6);
                items.hash(state);
            }
            HashKey::FrozenSet(items) => {
                state.write_u8(7);
                items.hash(state);
            }
            HashKey::Parts(kind, items) => {
                state.write_u8(8);
                kind.hash(state);
                items.hash(state);
            }
            HashKey::Identity(address) => {
                state.write_u8(9);
                state.write_usize(*address);
            }
        }
    }
}

/// A `str` key to look up without making a [`HashKey`].
pub(crate) struct StrKey<'a>(pub(crate) &'a str);

impl Hash for StrKey<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.0.as_bytes());
        state.write_u8(0xff);
    }
}

impl Equivalent<HashKey> for StrKey<'_> {
    fn equivalent(&self, key: &HashKey) -> bool {
        matches!(key, HashKey::Str(text) if **text == *self.0)
    }
}

const MODULUS: u64 = (1 << 61) - 1;

/// `hash(x)` in CPython, and whether it is the same in every process (hashes of text and of most objects are not).
pub(crate) fn cpython_hash(key: &HashKey) -> (i64, bool) {
    match key {
        HashKey::Int(int) => {
            let magnitude = (int.unsigned_abs() % MODULUS) as i64;
            (proper(if *int < 0 { -magnitude } else { magnitude }), true)
        }
        HashKey::BigInt(int) => {
            let rest = int.abs().mod_floor(&BigInt::from(MODULUS)).to_i64().unwrap_or(0);
            (proper(if int.is_negative() { -rest } else { rest }), true)
        }
        HashKey::Float(bits) => {
            let float = f64::from_bits(*bits);
            (float_hash(float), !float.is_nan())
        }
        HashKey::Tuple(items) => {
            const PRIMES: (u64, u64, u64) = (11400714785074694791, 14029467366897019727, 2870177450012600261);
            let mut acc = PRIMES.2;
            let mut stable = true;
            for item in items {
                let (lane, same) = cpython_hash(item);
                stable &= same;
                acc = acc.wrapping_add((lane as u64).wrapping_mul(PRIMES.1)).rotate_left(31).wrapping_mul(PRIMES.0);
            }
            acc = acc.wrapping_add(items.len() as u64 ^ (PRIMES.2 ^ 3527539));
            (if acc == u64::MAX { 1546275796 } else { acc as i64 }, stable)
        }
        other => {
            let mut hasher = std::hash::DefaultHasher::new();
            other.hash(&mut hasher);
            (hasher.finish() as i64, false)
        }
    }
}

fn proper(hash: i64) -> i64 {
    if hash == -1 { -2 } else { hash }
}

fn float_hash(value: f64) -> i64 {
    if value.is_infinite() {
        return if value > 0.0 { 314159 } else { -314159 };
    }
    if value.is_nan() {
        return 0;
    }
    let bits = value.abs().to_bits();
    let raw = ((bits >> 52) & 0x7ff) as i64;
    let (mantissa, exponent) = if raw == 0 {
        (bits & 0x000f_ffff_ffff_ffff, -1074)
    } else {
        ((bits & 0x000f_ffff_ffff_ffff) | (1 << 52), raw - 1075)
    };
    // 2**61 is 1 in this modulus: an exponent is a rotation
    let rotate = exponent.rem_euclid(61) as u32;
    let wide = u128::from(mantissa % MODULUS) << rotate;
    let rest = (wide % u128::from(MODULUS)) as i64;
    proper(if value < 0.0 { -rest } else { rest })
}
