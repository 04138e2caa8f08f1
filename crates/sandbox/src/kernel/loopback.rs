//! The loopback interface of a new network namespace, which is the only interface that a command has here.

use anyhow::{Context, ensure};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

/// The loopback interface is the first one in every network namespace.
const LOOPBACK: u32 = 1;
/// Addresses besides 127.0.0.1 and ::1, with the lengths of their prefixes: a second loopback address, and a
/// link-local one.
const OTHERS: [(AddressFamily, &[u8], u8); 2] = [
    (AddressFamily::INET, &[127, 0, 0, 2], 8),
    (
        AddressFamily::INET6,
        &[0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        64,
    ),
];

/// Brings up the loopback interface. The kernel then gives it 127.0.0.1 and ::1, and two more are added.
pub(crate) fn loopback_up() -> anyhow::Result<()> {
    const RTM_NEWLINK: u16 = 16;
    const UP: u32 = 1;
    // struct ifinfomsg: family, device type, index, flags, mask of the flags to change; see rtnetlink(7).
    let words = [0, LOOPBACK, UP, UP];
    let request: Vec<u8> = words.into_iter().flat_map(u32::to_ne_bytes).collect();
    let error = ask(RTM_NEWLINK, &request)?;
    ensure!(
        error == Some(0),
        "set the loopback interface up: the kernel answers with error {}",
        error.map_or_else(|| "unknown".into(), |number| (-number).to_string())
    );
    // A machine with a network has more addresses than these two. Without any other, the C library finds no address of
    // `localhost` for programs that only want ones they can use (`AI_ADDRCONFIG`, see getaddrinfo(3)). A kernel may
    // refuse them, as one without IPv6 does the second, and everything else works without them.
    for (family, address, prefix) in OTHERS {
        add(family, address, prefix).ok();
    }
    Ok(())
}

/// Gives the interface another address.
fn add(family: AddressFamily, address: &[u8], prefix: u8) -> anyhow::Result<()> {
    const RTM_NEWADDR: u16 = 20;
    const IFA_LOCAL: u16 = 2;
    const HOST: u8 = 254;
    /// The length of an attribute's header.
    const HEADER: u16 = 4;
    // struct ifaddrmsg: family, length of the prefix, flags, scope, index; then one attribute.
    let family = u8::try_from(family.as_raw())?;
    let mut request = vec![family, prefix, 0, HOST];
    request.extend(LOOPBACK.to_ne_bytes());
    request.extend((HEADER + u16::try_from(address.len())?).to_ne_bytes());
    request.extend(IFA_LOCAL.to_ne_bytes());
    request.extend(address);
    ask(RTM_NEWADDR, &request).map(drop)
}

/// Sends a request to the kernel, and returns the number of its error: negative, or zero for success.
fn ask(kind: u16, body: &[u8]) -> anyhow::Result<Option<i32>> {
    const REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;
    /// The length of a request's header.
    const HEADER: u32 = 16;
    // struct nlmsghdr: length, type, flags, sequence number, port; see netlink(7).
    let mut request = Vec::with_capacity(64);
    request.extend((HEADER + u32::try_from(body.len())?).to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    request.extend([0; 8]);
    request.extend(body);

    let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)
        .context("open a netlink socket")?;
    rustix::net::send(&socket, &request, SendFlags::empty()).context("ask for the loopback interface")?;
    let mut reply = [0; 256];
    let (_, length) = rustix::net::recv(&socket, &mut reply, RecvFlags::empty()).context("read the kernel's answer")?;
    // struct nlmsgerr: the negated error number follows the header.
    Ok(reply[..length]
        .get(16..20)
        .and_then(|bytes| bytes.try_into().ok())
        .map(i32::from_ne_bytes))
}
