//! Tokens that OpenSSL signed, that of RFC 7515, and such as have to be refused.

use jsonwebtoken::{Header, Validation, decode, encode};
use serde_json::{Value, json};

use super::*;

const KEY: &[u8] = include_bytes!("../../examples/key.pem");
const PUBLIC_KEY: &[u8] = include_bytes!("../../examples/key.pub.pem");

/// What OpenSSL signs with the same key: this kind of signature has no random part.
const SIGNED_BY_OPENSSL: &str = "eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxMjM0In0.\
    mKrhZb6SVMw6_7wj-EvB3wVQuYre96EGtaxwKKJk4E0-x8A-a0yNlcvlxzPsomVEIcClxEs1Uhyyg_zJ01pfkf0rAuKBsjy30i7apS1CWjM4IMj0\
    KJUpCYhuMO3rzk55T17RJMWf3ZfWudNhELb5daXilW35tZ0rBYL5u9Uqfd8_OU6Kg8D5Hiaou0hBs2nWP2ygYSJxkrEKQjgTzPlrRzT84jacqLR2\
    fXg755vCyW13xRL-ktzPKpFwPN881cenlMuh6Vn32WH7_nV55L8K0Aa0M_E5tmeNYJwWYF1RuY2CyRnSAYUiw2TPXc58JuvPwdMc9smp8WW1neGJ\
    BRCp7A";

/// The example of <https://www.rfc-editor.org/rfc/rfc7515#appendix-A.2>, and the modulus of its key.
const OF_THE_RFC: &str = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvb\
    S9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp\
    5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN\
    9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmt\
    VrBp0igcN_IoypGlUPQGe77Rw";
const MODULUS: &str = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4Q\
    lL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo\
    7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2P\
    AcDTW9gb54h4FRWyuXpoQ";

fn signed(algorithm: Algorithm, key: &EncodingKey) -> Result<String> {
    crate::install();
    encode(&Header::new(algorithm), &json!({"iss": "1234"}), key)
}

fn read(token: &str, key: &DecodingKey) -> Result<Value> {
    crate::install();
    let mut validation = Validation::new(Algorithm::RS256);
    validation.validate_exp = false;
    validation.required_spec_claims.clear();
    decode::<Value>(token, key, &validation).map(|token| token.claims)
}

#[test]
fn a_token_is_signed_as_openssl_does() {
    let key = EncodingKey::from_rsa_pem(KEY).unwrap();
    assert_eq!(signed(Algorithm::RS256, &key).unwrap(), SIGNED_BY_OPENSSL);
}

#[test]
fn tokens_that_others_signed_are_verified() {
    let key = DecodingKey::from_rsa_pem(PUBLIC_KEY).unwrap();
    assert_eq!(read(SIGNED_BY_OPENSSL, &key).unwrap(), json!({"iss": "1234"}));
    let key = DecodingKey::from_rsa_components(MODULUS, "AQAB").unwrap();
    assert_eq!(read(OF_THE_RFC, &key).unwrap()["iss"], "joe");
}

#[test]
fn a_token_that_was_changed_or_signed_with_another_key_is_refused() {
    let key = DecodingKey::from_rsa_pem(PUBLIC_KEY).unwrap();
    // Another issuer, another signature, none, and another key.
    let claims = SIGNED_BY_OPENSSL.replace("eyJpc3MiOiIxMjM0In0", "eyJpc3MiOiIxMjM1In0");
    let signature = SIGNED_BY_OPENSSL.replace("mKrhZb6S", "mKrhZb6T");
    let (without, _) = SIGNED_BY_OPENSSL.rsplit_once('.').unwrap();
    for token in [&claims, &signature, &format!("{without}."), OF_THE_RFC] {
        let refused = read(token, &key).unwrap_err();
        assert_eq!(refused.kind(), &ErrorKind::InvalidSignature, "{token}");
    }
}

#[test]
fn other_algorithms_and_keys_are_errors() {
    let key = EncodingKey::from_rsa_pem(KEY).unwrap();
    let refused = |algorithm, key| signed(algorithm, key).unwrap_err().into_kind();
    assert_eq!(refused(Algorithm::RS512, &key), ErrorKind::InvalidAlgorithm);
    assert_eq!(refused(Algorithm::PS256, &key), ErrorKind::InvalidAlgorithm);
    let secret = EncodingKey::from_secret(b"secret");
    assert_eq!(refused(Algorithm::HS256, &secret), ErrorKind::InvalidAlgorithm);
    let not_a_key = EncodingKey::from_rsa_der(b"not a key");
    assert!(matches!(
        refused(Algorithm::RS256, &not_a_key),
        ErrorKind::InvalidRsaKey(_)
    ));
}
