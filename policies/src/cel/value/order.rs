//! Which of two values comes first.

use std::cmp::Ordering;

use super::Value;

/// Orders two values; `None` when they cannot be ordered, `Some(Err(()))` when a number is none.
pub(crate) fn compare(left: &Value<'_>, right: &Value<'_>) -> Option<Result<Ordering, ()>> {
    Some(match (left, right) {
        (Value::Int(left), Value::Int(right)) => Ok(left.cmp(right)),
        (Value::String(left), Value::String(right)) => Ok((**left).cmp(&**right)),
        (Value::Uint(left), Value::Uint(right)) => Ok(left.cmp(right)),
        (Value::Double(left), Value::Double(right)) => left.partial_cmp(right).ok_or(()),
        (Value::Int(left), Value::Uint(right)) => Ok(int_and_uint(*left, *right)),
        (Value::Uint(left), Value::Int(right)) => Ok(int_and_uint(*right, *left).reverse()),
        (Value::Int(left), Value::Double(right)) => double_and_int(*right, *left).map(Ordering::reverse),
        (Value::Double(left), Value::Int(right)) => double_and_int(*left, *right),
        (Value::Uint(left), Value::Double(right)) => double_and_uint(*right, *left).map(Ordering::reverse),
        (Value::Double(left), Value::Uint(right)) => double_and_uint(*left, *right),
        (Value::Bool(left), Value::Bool(right)) => Ok(left.cmp(right)),
        (Value::Bytes(left), Value::Bytes(right)) => Ok(left.cmp(right)),
        (Value::Duration(left), Value::Duration(right)) => Ok(left.cmp(right)),
        (Value::Timestamp(left), Value::Timestamp(right)) => Ok(left.cmp(right)),
        _ => return None,
    })
}

fn int_and_uint(left: i64, right: u64) -> Ordering {
    u64::try_from(left).map_or(Ordering::Less, |left| left.cmp(&right))
}

/// Beyond these, the number of the other side decides by its size alone; within, it is compared as a double, which
/// is how Kubernetes compares them even where that is not exact.
fn double_and_int(left: f64, right: i64) -> Result<Ordering, ()> {
    if left.is_nan() {
        return Err(());
    }
    if left < -9_223_372_036_854_775_808.0 {
        return Ok(Ordering::Less);
    }
    if left > 9_223_372_036_854_775_807.0 {
        return Ok(Ordering::Greater);
    }
    #[expect(clippy::cast_precision_loss, reason = "compared as doubles, as Kubernetes does")]
    left.partial_cmp(&(right as f64)).ok_or(())
}

fn double_and_uint(left: f64, right: u64) -> Result<Ordering, ()> {
    if left.is_nan() {
        return Err(());
    }
    if left < 0.0 {
        return Ok(Ordering::Less);
    }
    if left > 18_446_744_073_709_551_615.0 {
        return Ok(Ordering::Greater);
    }
    #[expect(clippy::cast_precision_loss, reason = "compared as doubles, as Kubernetes does")]
    left.partial_cmp(&(right as f64)).ok_or(())
}

/// The integer a double is, if it is one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "checked both ways"
)]
pub(crate) fn double_to_int(value: f64) -> Option<i64> {
    let inside = value > -9_223_372_036_854_775_808.0 && value < 9_223_372_036_854_775_808.0;
    (inside && (value as i64) as f64 == value).then_some(value as i64)
}

/// The unsigned integer a double is, if it is one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "checked both ways"
)]
pub(crate) fn double_to_uint(value: f64) -> Option<u64> {
    let inside = (0.0..18_446_744_073_709_551_616.0).contains(&value);
    (inside && (value as u64) as f64 == value).then_some(value as u64)
}
