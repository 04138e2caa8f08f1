//! Makes ring the cryptography of `rustls` and `jsonwebtoken` in this process. Neither is compiled with any.
//!
//! Both could use aws-lc, whose C code takes a minute of processor time to compile. `jsonwebtoken`'s other choice is
//! RustCrypto, whose RSA leaks keys through timing (RUSTSEC-2023-0071).

mod rs256;

/// Makes ring the cryptography of this process, unless something else is installed already.
///
/// Call it before the first TLS client or token. Calling it again costs next to nothing.
pub fn install() {
    let _installed_already = rustls::crypto::ring::default_provider().install_default();
    let _installed_already = rs256::PROVIDER.install_default();
}
