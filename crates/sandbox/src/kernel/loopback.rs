//! The loopback interface of a new network namespace, which is the only interface that a command has here.

use anyhow::{Context, ensure};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

/// The loopback interface is the first one in every network namespace.
const LOOPBACK: i32 = 1;

/// Brings up the loopback interface; the kernel then gives it 127.0.0.1 and ::1.
pub(crate) fn loopback_up() -> anyhow::Result<()> {
    const RTM_NEWLINK: u16 = 16;
    const REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;
    const UP: u32 = 1;
    let mut request = Vec::with_capacity(32);
    // struct nlmsghdr: length, type, flags, sequence number, port; see netlink(7).
    request.extend(32u32.to_ne_bytes());
    request.extend(RTM_NEWLINK.to_ne_bytes());
    request.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    request.extend([0; 8]);
    // struct ifinfomsg: family, device type, index, flags, mask of the flags to change; see rtnetlink(7).
    request.extend([0; 4]);
    request.extend(LOOPBACK.to_ne_bytes());
    request.extend(UP.to_ne_bytes());
    request.extend(UP.to_ne_bytes());

    let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)
        .context("open a netlink socket")?;
    rustix::net::send(&socket, &request, SendFlags::empty()).context("ask for the loopback interface")?;
    let mut reply = [0; 256];
    let (_, length) = rustix::net::recv(&socket, &mut reply, RecvFlags::empty()).context("read the kernel's answer")?;
    // struct nlmsgerr: the negated error number follows the header.
    let error = reply[..length]
        .get(16..20)
        .and_then(|bytes| bytes.try_into().ok())
        .map(i32::from_ne_bytes);
    ensure!(
        error == Some(0),
        "set the loopback interface up: the kernel answers with error {}",
        error.map_or_else(|| "unknown".into(), |number| (-number).to_string())
    );
    Ok(())
}
