//! Variables and connections, decrypted as Airflow does it (`airflow.models.crypto`).

use fernet::{Fernet, MultiFernet};
use serde_json::{Value as Json, json};

use super::Database;
use crate::airflow::{SourceError, Values};
use crate::run::unreadable;

/// `[core] fernet_key`: one key or several, separated by commas.
#[derive(Default)]
pub struct FernetKeys(Option<MultiFernet>);

impl std::fmt::Debug for FernetKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "FernetKeys(***)" } else { "FernetKeys(none)" })
    }
}

impl FernetKeys {
    /// Reads the setting; an empty one is none.
    ///
    /// # Errors
    /// A key that is none. The message does not hold it.
    pub fn parse(setting: &str) -> Result<Self, SourceError> {
        if setting.trim().is_empty() {
            return Ok(FernetKeys(None));
        }
        let keys = setting.split(',').enumerate().map(|(at, key)| {
            Fernet::new(key.trim()).ok_or_else(|| {
                SourceError::new(format!("key {} of the Fernet keys is not one", at + 1))
                    .help("a Fernet key is 32 bytes in URL-safe base64, as AIRFLOW__CORE__FERNET_KEY has it")
            })
        });
        Ok(FernetKeys(Some(MultiFernet::new(keys.collect::<Result<_, _>>()?))))
    }

    /// The text of a token, or why it cannot be read.
    fn decrypted(&self, token: &str) -> Result<String, &'static str> {
        let Some(keys) = &self.0 else { return Err("encrypted, and no Fernet key is given") };
        let bytes = keys.decrypt(token).map_err(|_| "encrypted with another Fernet key")?;
        String::from_utf8(bytes).map_err(|_| "encrypted text that is not UTF-8")
    }
}

/// What helps against an encrypted value.
const HELP: &str = "set AIRFLOW__CORE__FERNET_KEY as your Airflow has it";

impl Database {
    /// Every variable and connection. What cannot be decrypted is named, and refused when a template asks for it.
    pub(super) fn decrypted_values(&mut self) -> Result<Values, SourceError> {
        let keys = &self.keys;
        let mut values = Values::default();
        for row in self.connection.rows("SELECT \"key\", val, is_encrypted FROM variable ORDER BY \"key\"")? {
            let (name, raw) = (row.string(0), row.string(1));
            let read = if row.boolean(2) { keys.decrypted(&raw) } else { Ok(raw) };
            let value = match read {
                Ok(text) => Json::from(text),
                Err(why) => refused(&mut values, &format!("variable `{name}`"), why),
            };
            values.variables.insert(name, value);
        }
        let rows = self.connection.rows(
            "SELECT conn_id, conn_type, description, host, \"schema\", login, port, password, extra, is_encrypted, \
             is_extra_encrypted FROM connection ORDER BY conn_id",
        )?;
        for row in rows {
            let conn_id = row.string(0);
            let mut fields = json!({
                "conn_type": row.string(1), "description": row.text(2), "host": row.text(3), "schema": row.text(4),
                "login": row.text(5), "port": row.int(6),
            });
            for (name, at, encrypted) in [("password", 7, row.boolean(9)), ("extra", 8, row.boolean(10))] {
                fields[name] = match row.text(at).filter(|text| !text.is_empty()) {
                    Some(token) if encrypted => match keys.decrypted(&token) {
                        Ok(text) => Json::from(text),
                        Err(why) => refused(&mut values, &format!("`{name}` of connection `{conn_id}`"), why),
                    },
                    text => Json::from(text),
                };
            }
            let value = match fields {
                Json::Object(fields) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect(),
                other => other,
            };
            values.connections.insert(conn_id, value);
        }
        Ok(values)
    }
}

fn refused(values: &mut Values, what: &str, why: &str) -> Json {
    let text = format!("{what} is {why}");
    values.unreadable.push(text.clone());
    unreadable(&text, HELP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_of_several_keys() {
        let (old, new) = (Fernet::generate_key(), Fernet::generate_key());
        let token = Fernet::new(&old).map(|fernet| fernet.encrypt(b"lake")).unwrap_or_default();
        let keys = |setting: &str| FernetKeys::parse(setting).unwrap_or_default();
        assert_eq!(keys(&format!("{new},{old}")).decrypted(&token).as_deref(), Ok("lake"));
        assert_eq!(keys(&new).decrypted(&token), Err("encrypted with another Fernet key"));
        assert_eq!(keys("").decrypted(&token), Err("encrypted, and no Fernet key is given"));
        assert!(FernetKeys::parse("nonsense").is_err_and(|error| !error.to_string().contains("nonsense")));
    }
}
