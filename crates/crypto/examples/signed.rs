//! Signs a token like a GitHub App's, and reads it again. The key protects nothing.
#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde_json::{Value, json};

fn main() -> Result<(), jsonwebtoken::errors::Error> {
    greenlight_crypto::install();
    let key = EncodingKey::from_rsa_pem(include_bytes!("key.pem"))?;
    let claims = json!({"iss": "1234", "exp": jsonwebtoken::get_current_timestamp() + 60});
    let token = jsonwebtoken::encode(&Header::new(Algorithm::RS256), &claims, &key)?;
    println!("{token}");
    let key = DecodingKey::from_rsa_pem(include_bytes!("key.pub.pem"))?;
    let read = jsonwebtoken::decode::<Value>(&token, &key, &Validation::new(Algorithm::RS256))?;
    println!("{}", read.claims);
    Ok(())
}
