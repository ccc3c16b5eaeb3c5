//! Free ports on loopback for one control plane.
//!
//! Ports lie below 32768: above, the bed's own outgoing connections would take them. A block of ports is locked
//! through a file as long as the bed runs, so two beds never choose the same one, however they ended.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};

use crate::cache::{Cache, make_dir};
use crate::problem::{Problem, Result};

const FIRST: u16 = 20000;
const SIZE: u16 = 8;
const BLOCKS: u16 = 1500;

/// The ports of one control plane, ours until dropped.
#[derive(Debug)]
pub struct Ports {
    pub etcd: u16,
    pub etcd_peer: u16,
    pub api_server: u16,
    pub kwok: u16,
    _lock: File,
}

impl Ports {
    /// Takes the first block that nobody has locked and whose ports nobody listens on.
    pub fn take(cache: &Cache) -> Result<Ports> {
        let dir = cache.ports_dir();
        make_dir(&dir)?;
        for block in 0..BLOCKS {
            let first = FIRST + block * SIZE;
            let path = dir.join(format!("{first}.lock"));
            let file = File::create(&path).map_err(|error| Problem::file("create", &path, &error))?;
            if file.try_lock().is_ok() && (first..first + SIZE).all(is_free) {
                return Ok(Ports {
                    etcd: first,
                    etcd_peer: first + 1,
                    api_server: first + 2,
                    kwok: first + 3,
                    _lock: file,
                });
            }
        }
        let last = FIRST + BLOCKS * SIZE - 1;
        Err(Problem::new(format!("no {SIZE} free ports in a row between {FIRST} and {last} on 127.0.0.1"))
            .next("end what listens there, or beds that are no longer needed (`cargo xtask testbed down`)"))
    }
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Other tests and beds on this machine look for ports, too: which block is chosen is not ours to say.

    #[test]
    fn two_beds_get_different_ports_and_a_dropped_bed_frees_its_own() {
        let dir = std::env::temp_dir().join(format!("kueue-testbed-{}-ports", std::process::id()));
        let cache = Cache::at(dir.clone());
        let one = Ports::take(&cache).unwrap();
        let two = Ports::take(&cache).unwrap();
        assert_ne!(one.api_server, two.api_server);
        let can_lock =
            |ports: u16| File::create(cache.ports_dir().join(format!("{ports}.lock"))).unwrap().try_lock().is_ok();
        let (first, second) = (one.etcd, two.etcd);
        drop(one);
        assert!(can_lock(first) && !can_lock(second));
        drop(two);
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_port_that_somebody_listens_on_is_not_free() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(!is_free(listener.local_addr().unwrap().port()));
    }
}
