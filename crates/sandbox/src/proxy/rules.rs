//! Which names and addresses a command may reach during an installation. Pure decisions, without look-ups.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Hosts where code can be pushed, or read with a token: a way out for any code inside that reaches them. They and
/// their subdomains are refused, even if the configuration allows them.
const NEVER: [&str; 7] = [
    "github.com",
    "githubusercontent.com",
    "githubassets.com",
    "github.dev",
    "github.io",
    "ghcr.io",
    "ghe.com",
];

/// The only allowed port: package registries use TLS.
const PORT: &str = "443";

/// Addresses that belong to no public server, from IANA's registries of special addresses
/// (<https://www.iana.org/assignments/iana-ipv4-special-registry>): network and prefix length.
///
/// Documentation addresses are not listed: nothing private uses them, and closed networks map public names to them.
const SPECIAL_V4: [(Ipv4Addr, u32); 14] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(168, 63, 129, 16), 32), // The host of every virtual machine of Azure.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 31, 196, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// Global unicast addresses of IPv6 that lead elsewhere: special uses, tunnels, and addresses that contain an IPv4
/// address.
const SPECIAL_V6: [(Ipv6Addr, u32); 3] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48),
];

/// Why a connection is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The host is not on the list.
    NotAllowed,
    /// The host belongs to GitHub; no packages are installed from there.
    GitHub,
    /// The port is not that of HTTPS.
    Port,
    /// The target is not a host name, but an address or nonsense.
    NoName,
    /// The name has no public address.
    NotPublic,
    /// The host does not answer.
    Unreachable,
}

impl Why {
    /// The rest of a sentence that begins with the host.
    pub fn text(self) -> &'static str {
        match self {
            Self::NotAllowed => "is not allowed",
            Self::GitHub => "belongs to GitHub and is never allowed",
            Self::Port => "is not allowed: the only port is 443",
            Self::NoName => "is not allowed: only host names are",
            Self::NotPublic => "has no public address",
            Self::Unreachable => "does not answer",
        }
    }
}

/// The host of a target `host:port`, if connecting to it is allowed.
///
/// # Errors
/// The reason if it is not.
pub(super) fn permit(target: &str, hosts: &BTreeSet<String>) -> Result<String, Why> {
    let (host, port) = target.rsplit_once(':').ok_or(Why::Port)?;
    let host = host_name(host).ok_or(Why::NoName)?;
    if is_github(&host) {
        Err(Why::GitHub)
    } else if !hosts.contains(&host) {
        Err(Why::NotAllowed)
    } else if port != PORT {
        Err(Why::Port)
    } else {
        Ok(host)
    }
}

/// A full host name in canonical form: lower case, ASCII, no trailing dot, not an address.
pub fn host_name(text: &str) -> Option<String> {
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    // Some resolvers treat `1.2.3`, `0x7f.1` and similar names as addresses.
    let is_address = last.starts_with(|first: char| first.is_ascii_digit());
    let is_name = name.len() <= 253 && name.contains('.') && name.split('.').all(is_label) && !is_address;
    is_name.then_some(name)
}

/// Whether a host belongs to GitHub, so that no list can allow it.
pub fn is_github(host: &str) -> bool {
    NEVER
        .iter()
        .any(|never| host == *never || host.strip_suffix(never).is_some_and(|above| above.ends_with('.')))
}

/// Whether an address is on the public internet, not on this machine, its network or its provider.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !SPECIAL_V4
            .iter()
            .any(|(network, length)| (address.to_bits() ^ network.to_bits()) >> (32 - length) == 0),
        // Everything outside of 2000::/3 is local, reserved, multicast, or contains an IPv4 address.
        IpAddr::V6(address) => {
            address.to_bits() >> 125 == 1
                && !SPECIAL_V6
                    .iter()
                    .any(|(network, length)| (address.to_bits() ^ network.to_bits()) >> (128 - length) == 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_of_the_list_on_the_port_of_https() {
        let hosts = ["pypi.org", "github.com", "api.github.com", "1.1.1.1"]
            .map(str::to_owned)
            .into();
        for (target, expected) in [
            ("pypi.org:443", Ok("pypi.org")),
            ("PyPI.org:443", Ok("pypi.org")),
            ("pypi.org.:443", Ok("pypi.org")),
            ("pypi.org..:443", Err(Why::NoName)),
            ("pypi.org", Err(Why::Port)),
            ("pypi.org:80", Err(Why::Port)),
            ("pypi.org:8443", Err(Why::Port)),
            ("pypi.org:0443", Err(Why::Port)),
            ("pypi.org:443:443", Err(Why::NoName)),
            ("evil.example:443", Err(Why::NotAllowed)),
            ("pypi.org.evil.example:443", Err(Why::NotAllowed)),
            ("evil-pypi.org:443", Err(Why::NotAllowed)),
            ("www.pypi.org:443", Err(Why::NotAllowed)),
            ("pypi.org@evil.example:443", Err(Why::NoName)),
            ("https://pypi.org:443", Err(Why::NoName)),
            ("pypi.org/x:443", Err(Why::NoName)),
            ("pypi.org%00.evil.example:443", Err(Why::NoName)),
            ("pypі.org:443", Err(Why::NoName)),
            ("1.1.1.1:443", Err(Why::NoName)),
            ("[::1]:443", Err(Why::NoName)),
            ("0x7f.1:443", Err(Why::NoName)),
            ("2130706433:443", Err(Why::NoName)),
            ("localhost:443", Err(Why::NoName)),
            ("github.com:443", Err(Why::GitHub)),
            ("API.GitHub.com.:443", Err(Why::GitHub)),
            ("raw.githubusercontent.com:443", Err(Why::GitHub)),
            ("npm.pkg.github.com:443", Err(Why::GitHub)),
            ("ghcr.io:443", Err(Why::GitHub)),
            ("notgithub.com:443", Err(Why::NotAllowed)),
            ("", Err(Why::Port)),
            (":443", Err(Why::NoName)),
        ] {
            assert_eq!(permit(target, &hosts).as_deref(), expected.as_deref(), "{target}");
        }
    }

    #[test]
    fn only_public_addresses() {
        for public in [
            "1.1.1.1",
            "151.101.0.223",
            "172.15.0.1",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "2a04:4e42::223",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for special in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.9.9.9",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "224.0.0.1",
            "239.1.1.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "::ffff:1.1.1.1",
            "::1.1.1.1",
            "64:ff9b::a00:1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001::1",
            "2002:a00:1::",
        ] {
            assert!(!is_public(special.parse().unwrap()), "{special}");
        }
    }
}
