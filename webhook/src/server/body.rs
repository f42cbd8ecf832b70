//! Reads a body that may be too long, too slow, or one too many.

use butler_program::Share;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Body;

use super::refusal::Refusal;

/// A buffer starts no larger than this, whatever length was announced: who announces much has not yet sent it.
const FIRST_BUFFER: usize = 64 << 10;

/// Reads to the end. `held` grows by what is kept, before it is kept, so the budget behind it bounds the memory of
/// all bodies together.
///
/// A body that came in one piece, as most reviews do, is handed on as it is.
pub(super) async fn read<B>(mut body: B, limit: usize, held: &mut Share) -> Result<Bytes, Refusal>
where
    B: Body<Data = Bytes> + Unpin,
{
    let announced = body.size_hint().lower();
    if is_over(announced, limit) {
        return Err(Refusal::BodyTooLarge { limit });
    }
    let Some(first) = next(&mut body).await? else { return Ok(Bytes::new()) };
    if first.len() > limit {
        return Err(Refusal::BodyTooLarge { limit });
    }
    if body.is_end_stream() {
        grow(held, first.len())?;
        return Ok(first);
    }

    let expected = usize::try_from(announced).unwrap_or(limit);
    let ceiling = if expected == 0 { limit } else { expected };
    let mut whole = Vec::new();
    reserve(&mut whole, expected.min(FIRST_BUFFER).max(first.len()), held)?;
    whole.extend_from_slice(&first);
    while let Some(piece) = next(&mut body).await? {
        let length = whole.len() + piece.len();
        if length > limit {
            return Err(Refusal::BodyTooLarge { limit });
        }
        if length > whole.capacity() {
            let doubled = (2 * whole.capacity()).min(ceiling);
            reserve(&mut whole, doubled.max(length), held)?;
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.into())
}

/// How often a body may be as long as one that is read and still be received, to be forgotten.
const DISCARDED: usize = 8;

/// Receives and forgets what is left of a body, within reason.
pub(super) async fn discard<B>(body: &mut B, limit: usize)
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut left = limit.saturating_mul(DISCARDED);
    while let Ok(Some(piece)) = next(body).await {
        left = left.saturating_sub(piece.len());
        if left == 0 {
            return;
        }
    }
}

/// Makes the buffer this large, after its budget.
fn reserve(whole: &mut Vec<u8>, capacity: usize, held: &mut Share) -> Result<(), Refusal> {
    grow(held, capacity - whole.capacity())?;
    whole.reserve_exact(capacity - whole.len());
    Ok(())
}

/// Whether a body of this announced length is refused before any of it is read.
pub(super) fn is_over(announced: u64, limit: usize) -> bool {
    usize::try_from(announced).map_or(true, |announced| announced > limit)
}

fn grow(held: &mut Share, amount: usize) -> Result<(), Refusal> {
    if held.grow(amount) { Ok(()) } else { Err(Refusal::TooManyBytes) }
}

/// The next piece of data; trailers are passed over.
async fn next<B>(body: &mut B) -> Result<Option<Bytes>, Refusal>
where
    B: Body<Data = Bytes> + Unpin,
{
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Refusal::BodyEndedEarly)?;
        if let Ok(data) = frame.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::stream;
    use http_body_util::StreamBody;
    use hyper::body::Frame;
    use prometheus_client::metrics::gauge::Gauge;

    use super::*;
    use butler_program::Budget;

    /// Reads a body of unknown length that comes in pieces of these sizes, and tells what the budget counted then.
    fn read_pieces(sizes: &[usize], limit: usize, budget: usize) -> (Result<Bytes, Refusal>, i64) {
        let pieces: Vec<_> = sizes
            .iter()
            .map(|size| Ok::<_, std::convert::Infallible>(Frame::data(Bytes::from(vec![b'x'; *size]))))
            .collect();
        let used = Gauge::default();
        let mut held = Budget::new(budget, used.clone()).take(0).unwrap();
        let read = read(StreamBody::new(stream::iter(pieces)), limit, &mut held).now_or_never().unwrap();
        let counted = used.get();
        drop(held);
        assert_eq!(used.get(), 0);
        (read, counted)
    }

    #[test]
    fn what_is_kept_is_counted() {
        let (read_whole, counted) = read_pieces(&[600, 600, 600, 600], 4096, 4096);
        assert_eq!(read_whole.unwrap().len(), 2400);
        assert_eq!(counted, 2400);
    }

    #[test]
    fn a_body_of_unknown_length_ends_at_the_limit() {
        let (read_whole, counted) = read_pieces(&[1000, 1000, 1000], 2999, 1 << 20);
        assert_eq!(read_whole.unwrap_err(), Refusal::BodyTooLarge { limit: 2999 });
        assert_eq!(counted, 2000);
        let (read_whole, _) = read_pieces(&[1000, 1000, 1000], 3000, 1 << 20);
        assert_eq!(read_whole.unwrap().len(), 3000);
    }

    #[test]
    fn a_body_past_the_budget_is_refused_before_it_is_kept() {
        let (read_whole, counted) = read_pieces(&[1000, 1000, 1000], 8192, 2500);
        assert_eq!(read_whole.unwrap_err(), Refusal::TooManyBytes);
        assert_eq!(counted, 2000);
        let (read_whole, counted) = read_pieces(&[3000], 8192, 2500);
        assert_eq!(read_whole.unwrap_err(), Refusal::TooManyBytes);
        assert_eq!(counted, 0);
    }

    #[test]
    fn an_announced_length_is_believed_only_as_far_as_it_may_go() {
        assert!(!is_over(8, 8));
        assert!(is_over(9, 8));
        assert!(is_over(u64::MAX, usize::MAX - 1));
    }
}
