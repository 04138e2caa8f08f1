//! Sums, and the biggest of several values.

#[derive(serde::Serialize)]
pub struct Sum {
    pub value: i64,
}

pub fn add(a: i64, b: i64) -> i64 {
    a + b
}

pub fn json(a: i64, b: i64) -> String {
    serde_json::to_string(&Sum { value: add(a, b) }).unwrap()
}

pub fn biggest(values: &[i64]) -> i64 {
    let mut best = values[0];
    for &value in values {
        if value > best {
            best = value;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(json(2, 3), "{\"value\":5}");
    }

    #[test]
    fn finds_the_biggest() {
        assert_eq!(biggest(&[1, 5, 3]), 5);
    }
}
