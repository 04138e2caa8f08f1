//! Signs and verifies JSON web tokens with RS256: RSASSA-PKCS1-v1_5 with SHA-256.
//! <https://www.rfc-editor.org/rfc/rfc7518#section-3.3>

use jsonwebtoken::crypto::{CryptoProvider, JwkUtils, JwtSigner, JwtVerifier};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::signature::{Error, Signer, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::rand::SystemRandom;
use ring::signature::{
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair, RsaPublicKeyComponents, UnparsedPublicKey,
};

pub(crate) static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |algorithm, key| {
        check(*algorithm, key.family())?;
        Ok(Box::new(Rs256Signer::new(key)?))
    },
    verifier_factory: |algorithm, key| {
        check(*algorithm, key.family())?;
        Ok(Box::new(Rs256Verifier(key.clone())))
    },
    jwk_utils: JwkUtils::new_unimplemented(),
};

fn check(algorithm: Algorithm, family: AlgorithmFamily) -> Result<()> {
    match (algorithm, family) {
        (Algorithm::RS256, AlgorithmFamily::Rsa) => Ok(()),
        (Algorithm::RS256, _) => Err(ErrorKind::InvalidKeyFormat.into()),
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}

struct Rs256Signer(RsaKeyPair);

impl Rs256Signer {
    fn new(key: &EncodingKey) -> Result<Self> {
        let pair = RsaKeyPair::from_der(key.inner());
        Ok(Self(
            pair.map_err(|refused| ErrorKind::InvalidRsaKey(refused.to_string()))?,
        ))
    }
}

impl Signer<Vec<u8>> for Rs256Signer {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, Error> {
        let mut signature = vec![0; self.0.public().modulus_len()];
        self.0
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature)
            .map_err(Error::from_source)?;
        Ok(signature)
    }
}

impl JwtSigner for Rs256Signer {
    fn algorithm(&self) -> Algorithm {
        Algorithm::RS256
    }
}

struct Rs256Verifier(DecodingKey);

impl Verifier<Vec<u8>> for Rs256Verifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let accepted = &RSA_PKCS1_2048_8192_SHA256;
        match self.0.kind() {
            DecodingKeyKind::SecretOrDer(der) => UnparsedPublicKey::new(accepted, der).verify(message, signature),
            DecodingKeyKind::RsaModulusExponent { n, e } => {
                RsaPublicKeyComponents { n, e }.verify(accepted, message, signature)
            }
        }
        .map_err(Error::from_source)
    }
}

impl JwtVerifier for Rs256Verifier {
    fn algorithm(&self) -> Algorithm {
        Algorithm::RS256
    }
}

#[cfg(test)]
mod tests;
