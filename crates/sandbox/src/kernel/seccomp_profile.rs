//! The system call filter in the format of container engines. It is less precise, but it is in place before the first
//! process inside starts, and covers everything that an engine starts there.

use std::collections::BTreeMap;

use seccompiler::SeccompCmpOp::{Eq, MaskedEq, Ne};
use serde_json::{Value, json};

use crate::kernel::seccomp::{Condition, UNKNOWN, refusals};

/// Comparisons of one argument, of which one must be true.
type Alternatives = Vec<Value>;

/// A profile for `--security-opt seccomp=`, see <https://docs.docker.com/engine/security/seccomp/>.
pub(crate) fn json() -> String {
    let mut rules: Vec<Value> = Vec::new();
    for ((name, _), lists) in refusals() {
        if lists.is_empty() {
            rules.push(refuse(name, libc::EPERM, &[]));
        }
        for conditions in lists {
            rules.extend(
                combinations(&conditions)
                    .iter()
                    .map(|arguments| refuse(name, libc::EPERM, arguments)),
            );
        }
    }
    rules.extend(UNKNOWN.iter().map(|(name, _)| refuse(name, libc::ENOSYS, &[])));
    json!({ "defaultAction": "SCMP_ACT_ALLOW", "syscalls": rules }).to_string()
}

fn refuse(name: &str, error: i32, arguments: &[Value]) -> Value {
    let name = name.trim_start_matches("SYS_");
    json!({ "names": [name], "action": "SCMP_ACT_ERRNO", "errnoRet": error, "args": arguments })
}

/// The conditions without "none of these values", which the format cannot express: an engine treats several
/// comparisons of the same argument as alternatives.
fn combinations(conditions: &[Condition]) -> Vec<Vec<Value>> {
    let mut by_argument: BTreeMap<u8, Alternatives> = BTreeMap::new();
    let mut excluded: BTreeMap<u8, Vec<i32>> = BTreeMap::new();
    for (argument, operator, value) in conditions {
        match operator {
            Ne => excluded.entry(*argument).or_default().push(*value),
            // Only the lower half is compared, as in the kernel.
            Eq => by_argument
                .entry(*argument)
                .or_default()
                .push(masked(*argument, u64::from(u32::MAX), *value)),
            MaskedEq(mask) => by_argument
                .entry(*argument)
                .or_default()
                .push(masked(*argument, *mask, *value)),
            _ => {}
        }
    }
    for (argument, values) in excluded {
        by_argument.insert(argument, outside(argument, &values));
    }
    by_argument.into_values().fold(vec![Vec::new()], |all, alternatives| {
        all.iter()
            .flat_map(|before| {
                alternatives.iter().map(move |one| {
                    let mut arguments: Vec<Value> = before.clone();
                    arguments.push(one.clone());
                    arguments
                })
            })
            .collect()
    })
}

/// Every value except these.
fn outside(argument: u8, values: &[i32]) -> Alternatives {
    let greatest = values.iter().copied().max().unwrap_or(0);
    let mut others: Alternatives = (0..greatest)
        .filter(|value| !values.contains(value))
        .map(|value| masked(argument, u64::from(u32::MAX), value))
        .collect();
    others.push(json!({ "index": argument, "op": "SCMP_CMP_GT", "value": greatest, "valueTwo": 0 }));
    others
}

fn masked(argument: u8, mask: u64, value: i32) -> Value {
    json!({ "index": argument, "op": "SCMP_CMP_MASKED_EQ", "value": mask, "valueTwo": value.cast_unsigned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_refuses_what_the_filter_refuses() {
        let profile: Value = serde_json::from_str(&json()).unwrap();
        let rules = profile["syscalls"].as_array().unwrap();
        for ((name, _), _) in refusals() {
            let name = name.strip_prefix("SYS_").unwrap();
            assert!(rules.iter().any(|rule| rule["names"][0] == name), "{name}");
        }
        let of = |name: &str| rules.iter().filter(|rule| rule["names"][0] == name).count();
        assert_eq!((of("bpf"), of("socketpair"), of("clone")), (1, 2, 7));
    }

    #[test]
    fn none_of_these_becomes_each_of_the_others() {
        let rules = combinations(&[(0, Eq, 5), (2, Ne, 0), (2, Ne, 3)]);
        let values: Vec<(u64, String)> = rules
            .iter()
            .map(|rule| (rule[1]["valueTwo"].as_u64().unwrap(), rule[1]["op"].to_string()))
            .collect();
        let masked = "\"SCMP_CMP_MASKED_EQ\"".to_owned();
        assert_eq!(
            values,
            [(1, masked.clone()), (2, masked), (0, "\"SCMP_CMP_GT\"".into())]
        );
        assert!(rules.iter().all(|rule| rule.len() == 2 && rule[0]["valueTwo"] == 5));
    }
}
