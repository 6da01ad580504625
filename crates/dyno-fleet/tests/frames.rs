//! Frames: what is written is read again, and nothing that comes does harm.

use dyno_engine::{LastTransactions, Part};
use dyno_fleet::frame::{FrameError, MOST_BYTES, read, write};
use dyno_fleet::protocol::{Early, Ended, Event, Hello, Order, PROTOCOL, Report, Told};
use dyno_record::{ErrorCode, ErrorCount, Route};
use proptest::prelude::*;
use std::io;
use std::time::Duration;

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![
        (any::<u32>(), ".{0,20}").prop_map(|(protocol, version)| Order::Hello { protocol, version }),
        any::<u64>().prop_map(|sent_ns| Order::Ping { sent_ns }),
        (
            prop::collection::vec(any::<u8>(), 0..2000),
            prop::collection::vec((any::<usize>(), any::<usize>()), 0..5),
            any::<bool>(),
        )
            .prop_map(|(plan, threads, counters)| Order::Load {
                plan,
                part: Part::of(threads.into_iter().map(|(start, end)| start..end).collect()),
                told: Told {
                    counters,
                    ceiling: counters.then_some(Route::Tcp),
                },
            }),
        any::<u64>().prop_map(|at_ns| Order::Start { at_ns }),
        Just(Order::Stop),
        Just(Order::Quit),
    ]
}

fn report() -> impl Strategy<Value = Report> {
    let hello = (any::<u32>(), ".{0,20}", any::<usize>());
    prop_oneof![
        hello.prop_map(|(protocol, text, cores)| Report::Hello(Hello {
            protocol,
            version: text.clone(),
            host: text.clone(),
            boot_id: text,
            cores,
            wall_ns: 1,
            clock_ns: 2,
        })),
        (any::<u64>(), any::<u64>()).prop_map(|(sent_ns, at_ns)| Report::Pong { sent_ns, at_ns }),
        prop::collection::vec(any::<u8>(), 0..2000).prop_map(Report::Interval),
        (any::<u32>(), prop::collection::vec(any::<Option<u32>>(), 0..40)).prop_map(|(at, values)| Report::Sample {
            at: Duration::from_micros(at.into()),
            values: values.into_iter().map(|value| value.map(f64::from)).collect(),
        }),
        (any::<usize>(), any::<usize>(), ".{0,40}").prop_map(|(workload, client, reason)| {
            Report::Event(Event::Aborted {
                workload,
                client,
                script: 0,
                command: 0,
                reason,
            })
        }),
        (any::<usize>(), any::<usize>(), prop::option::of((".{0,40}", ".{0,40}")))
            .prop_map(|(workload, place, texts)| Report::Statement { workload, place, texts }),
        (prop::collection::vec(any::<u64>(), 0..4), ".{0,40}").prop_map(|(counts, said)| Report::Done(Box::new(
            Ended {
                early: Some(Early::ConnectionsLost(said)),
                unfinished: counts.clone(),
                waited: vec![None],
                aborted: counts.clone(),
                connections: counts.clone(),
                connection_time: Vec::new(),
                last: vec![LastTransactions {
                    done: None,
                    finished: vec![Duration::from_secs(1)],
                    failed: vec![ErrorCount {
                        code: ErrorCode::OTHERS,
                        count: 3,
                        example: "ERROR".to_owned(),
                    }],
                    open_for: Some(Duration::from_millis(1)),
                }],
                restarted: counts,
                measured: Duration::from_secs(1),
            }
        ))),
        ".{0,40}".prop_map(Report::Failed),
    ]
}

/// Gives a few bytes at a time, as a network does.
struct Dribble<'a>(&'a [u8], usize);

impl io::Read for Dribble<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.1.min(buffer.len()).min(self.0.len());
        let (now, later) = self.0.split_at(length);
        buffer[..length].copy_from_slice(now);
        self.0 = later;
        Ok(length)
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        orders in prop::collection::vec(order(), 0..6),
        reports in prop::collection::vec(report(), 0..6),
        step in 1_usize..50,
    ) {
        let (mut told, mut said) = (Vec::new(), Vec::new());
        orders.iter().for_each(|order| write(&mut told, order).unwrap());
        reports.iter().for_each(|report| write(&mut said, report).unwrap());
        let mut buffer = Vec::new();
        let mut input = Dribble(&told, step);
        for order in &orders {
            prop_assert_eq!(&read::<Order>(&mut input, &mut buffer).unwrap(), order);
        }
        prop_assert!(matches!(read::<Order>(&mut input, &mut buffer), Err(FrameError::Closed)));
        let mut input = Dribble(&said, step);
        for report in &reports {
            prop_assert_eq!(&read::<Report>(&mut input, &mut buffer).unwrap(), report);
        }
    }

    #[test]
    fn a_stream_that_breaks_off_is_broken(order in order(), share in 0.0..1.0_f64) {
        let mut bytes = Vec::new();
        write(&mut bytes, &order).unwrap();
        bytes.truncate(1 + (share * (bytes.len() - 1) as f64) as usize);
        let read = read::<Order>(&mut bytes.as_slice(), &mut Vec::new());
        prop_assert!(matches!(read, Err(FrameError::Broken(_))), "{read:?}");
    }

    /// Whatever comes, with whatever length it claims.
    #[test]
    fn random_bytes_do_no_harm(
        length in prop_oneof![any::<u32>(), 0_u32..300, Just(MOST_BYTES)],
        bytes in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let stream = [&length.to_le_bytes()[..], &bytes].concat();
        let mut buffer = Vec::new();
        let _ = read::<Order>(&mut stream.as_slice(), &mut buffer);
        let _ = read::<Report>(&mut stream.as_slice(), &mut buffer);
        // Memory follows what has come, not what was promised.
        prop_assert!(buffer.capacity() <= 4096, "{} for {}", buffer.capacity(), bytes.len());
        let _ = read::<Order>(&mut bytes.as_slice(), &mut buffer);
    }

    /// Bytes that differ a little from a message.
    #[test]
    fn damaged_messages_do_no_harm(report in report(), at in any::<prop::sample::Index>(), byte: u8) {
        let mut bytes = Vec::new();
        write(&mut bytes, &report).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = read::<Report>(&mut bytes.as_slice(), &mut Vec::new());
    }
}

#[test]
fn what_is_too_long_is_not_written() {
    let error = write(&mut Vec::new(), &Report::Interval(vec![0; MOST_BYTES as usize])).unwrap_err();
    assert!(error.to_string().contains("too long"), "{error}");
    let mut told = Vec::new();
    write(
        &mut told,
        &Order::Hello {
            protocol: PROTOCOL,
            version: String::new(),
        },
    )
    .unwrap();
    assert!(matches!(
        read::<Order>(&mut [&told[..4], &[9; 20]].concat().as_slice(), &mut Vec::new()),
        Err(FrameError::Unreadable(_))
    ));
}
