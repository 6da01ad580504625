//! A buffer pool that is larger than the memory of the machine. The server takes the size all the same, and the kernel
//! ends it when it has filled so much of it.

use super::{BUFFER_POOL, ChangeError};
use crate::host::{HostFacts, host_facts};
use crate::mysql::address::ConnectionInfo;
use crate::mysql::variables::Variables;
use crate::values::in_bytes;

/// Refuses such a size, which `name` is to have, for a server on this machine.
pub(super) fn check(info: &ConnectionInfo, variables: &Variables, name: &str, wanted: &str) -> Result<(), ChangeError> {
    match name == BUFFER_POOL && info.is_local() {
        true => check_on(&host_facts(None), variables, wanted),
        false => Ok(()),
    }
}

fn check_on(host: &HostFacts, variables: &Variables, wanted: &str) -> Result<(), ChangeError> {
    // A tunnel to another machine begins here, too.
    let is_here = variables.get("hostname") == host.hostname.as_deref();
    let memory_bytes = host.capacity().memory_bytes.filter(|_| is_here);
    let wanted_bytes = in_bytes(wanted).parse::<u64>().ok();
    match (wanted_bytes, memory_bytes) {
        (Some(wanted_bytes), Some(memory_bytes)) if wanted_bytes > memory_bytes => Err(ChangeError::TooLarge {
            name: BUFFER_POOL,
            value: wanted.to_owned(),
            memory_mb: memory_bytes >> 20,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_pool_has_to_fit_into_memory() {
        let host = HostFacts {
            hostname: Some("here".to_owned()),
            memory_bytes: 8 << 30,
            ..host_facts(None)
        };
        let checked = |server: &str, wanted: &str| {
            let checked = check_on(&host, &Variables::from([("hostname", server)]), wanted);
            checked.map_err(|error| error.to_string())
        };
        assert_eq!(
            checked("here", "9G").unwrap_err(),
            "innodb_buffer_pool_size = 9G is larger than the memory of this machine (8192M), on which the server runs: \
             the kernel would end it. Give a smaller size"
        );
        assert!(checked("here", "9000000000").is_err());
        for fits in ["8G", "128M", "1024", "much"] {
            assert_eq!(checked("here", fits), Ok(()), "{fits}");
        }
        assert_eq!(checked("elsewhere", "9G"), Ok(()));
    }
}
