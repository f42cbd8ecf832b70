//! JSON as a text, not as a value: a key may come twice, and anything may stand where a value should.

use serde_json::Value;

#[derive(Clone, Debug)]
pub(crate) enum Json {
    Object(Vec<(String, Json)>),
    List(Vec<Json>),
    Text(String),
    /// Written as it is: numbers, literals, and whatever a mutation makes up.
    Raw(String),
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        match value {
            Value::Object(fields) => {
                Self::Object(fields.iter().map(|(key, value)| (key.clone(), value.into())).collect())
            }
            Value::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            Value::String(text) => Self::Text(text.clone()),
            Value::Null | Value::Bool(_) | Value::Number(_) => Self::Raw(value.to_string()),
        }
    }
}

impl Json {
    pub(crate) fn null() -> Self {
        Self::Raw("null".to_owned())
    }

    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Self> {
        let Self::Object(fields) = self else { return None };
        fields.iter_mut().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        bytes
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Object(fields) => {
                bytes.push(b'{');
                for (index, (key, value)) in fields.iter().enumerate() {
                    if index > 0 {
                        bytes.push(b',');
                    }
                    quote(key, bytes);
                    bytes.push(b':');
                    value.write(bytes);
                }
                bytes.push(b'}');
            }
            Self::List(items) => {
                bytes.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        bytes.push(b',');
                    }
                    item.write(bytes);
                }
                bytes.push(b']');
            }
            Self::Text(text) => quote(text, bytes),
            Self::Raw(text) => bytes.extend_from_slice(text.as_bytes()),
        }
    }
}

fn quote(text: &str, bytes: &mut Vec<u8>) {
    serde_json::to_writer(bytes, text).unwrap();
}
