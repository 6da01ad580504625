//! What every transport has to do, tried on pairs of sockets.

use super::{Arrival, Blocking, Connection, Readiness, SLACK, Transport, Wait};
use dyno_connect::Socket;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Makes a transport of connections.
trait Make: Transport + Sized {
    fn of(connections: Vec<Option<Connection>>) -> io::Result<Self>;
}

impl Make for Readiness {
    fn of(connections: Vec<Option<Connection>>) -> io::Result<Self> {
        Self::new(connections, 0)
    }
}

#[cfg(target_os = "linux")]
impl Make for crate::backend::wire::transport::Uring {
    fn of(connections: Vec<Option<Connection>>) -> io::Result<Self> {
        Self::new(connections, 0)
    }
}

impl Make for Blocking {
    fn of(mut connections: Vec<Option<Connection>>) -> io::Result<Self> {
        Self::new(connections.pop().flatten(), 0)
    }
}

/// Makes a test of each function for each transport that serves several connections.
macro_rules! over_each_transport {
    ($($test:ident),* $(,)?) => {
        $(mod $test {
            #[test]
            fn readiness() {
                super::$test::<crate::backend::wire::transport::Readiness>();
            }

            #[cfg(target_os = "linux")]
            #[test]
            fn io_uring() {
                match crate::backend::wire::transport::Uring::probe() {
                    Ok(()) => super::$test::<crate::backend::wire::transport::Uring>(),
                    Err(error) => eprintln!("not tested, io_uring is not to be had: {error}"),
                }
            }
        })*
    };
}

over_each_transport!(
    a_stream_arrives_whole_from_each_connection,
    what_the_peer_does_not_take_is_sent_later_and_in_order,
    both_sides_may_have_much_to_say_at_once,
    the_last_words_come_before_the_end,
    the_end_comes_that_follows_the_last_words_at_once,
    the_last_words_come_though_something_was_sent_meanwhile,
    a_new_connection_hears_nothing_of_the_old_one,
    a_closed_connection_says_what_it_was_to_say,
    what_is_flushed_needs_no_poll,
    a_wait_ends_in_time,
    no_duty_makes_a_wait_end_late_for_a_client,
);

fn pair() -> (Connection, UnixStream) {
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    (Connection::new(Socket::Unix(ours), None), theirs)
}

/// A transport of `count` connections, with their peers.
fn several<T: Make>(count: usize) -> (T, Vec<UnixStream>) {
    let (ours, theirs): (Vec<_>, Vec<_>) = (0..count).map(|_| pair()).unzip();
    let transport = T::of(ours.into_iter().map(Some).collect()).expect("a transport");
    (transport, theirs)
}

/// What arrived, by connection.
#[derive(Default)]
struct Arrived {
    bytes: Vec<Vec<u8>>,
    closed: Vec<Option<io::ErrorKind>>,
}

impl Arrived {
    fn new(count: usize) -> Self {
        Self {
            bytes: vec![Vec::new(); count],
            closed: vec![None; count],
        }
    }

    /// Polls once, for a short time.
    fn poll(&mut self, transport: &mut impl Transport) {
        let wait = Wait {
            due: Duration::from_millis(20),
            duty: Duration::MAX,
        };
        let polled = transport.poll(wait, &mut |index: usize, arrival: Arrival<'_>| match arrival {
            Arrival::Bytes(bytes) => {
                assert_eq!(self.closed[index], None, "bytes after the end");
                self.bytes[index].extend_from_slice(bytes);
            }
            Arrival::Closed(error) => {
                assert_eq!(self.closed[index].replace(error.kind()), None, "closed twice");
            }
        });
        polled.expect("the system waits");
    }

    /// Polls until it is as it should be.
    fn poll_until(&mut self, transport: &mut impl Transport, done: impl Fn(&Self) -> bool) {
        let begin = Instant::now();
        while !done(self) {
            assert!(begin.elapsed() < Duration::from_secs(20), "it never came");
            self.poll(transport);
        }
    }
}

/// Bytes of which each piece is different.
fn bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| random.u8(..)).collect()
}

fn a_stream_arrives_whole_from_each_connection<T: Make>() {
    let (mut transport, theirs) = several::<T>(16);
    // More than all buffers hold, in pieces of all sizes.
    let sent: Vec<_> = (0..16).map(|seed| bytes(seed, 300_000)).collect();
    let writers: Vec<_> = theirs.into_iter().zip(sent.clone()).enumerate().collect();
    std::thread::scope(|scope| {
        for (number, (mut stream, sent)) in writers {
            scope.spawn(move || {
                let (small, large) = sent.split_at(1000);
                for piece in small.chunks(number % 3 + 1).chain(large.chunks(7_000 * number + 1)) {
                    stream.write_all(piece).expect("our side reads");
                }
            });
        }
        let mut arrived = Arrived::new(16);
        arrived.poll_until(&mut transport, |arrived| arrived.closed.iter().all(Option::is_some));
        assert!(arrived.bytes == sent);
        assert_eq!(arrived.closed, [Some(io::ErrorKind::UnexpectedEof); 16]);
    });
}

fn what_the_peer_does_not_take_is_sent_later_and_in_order<T: Make>() {
    let (mut transport, mut theirs) = several::<T>(2);
    let mut arrived = Arrived::new(2);
    let sent: Vec<_> = (0..6).map(|seed| bytes(seed, 400_000)).collect();
    // The first two in one round, the others while something is still waiting.
    for (number, piece) in sent.iter().enumerate() {
        transport.send(0, piece).expect("it is taken over");
        if number > 0 {
            arrived.poll(&mut transport);
        }
    }
    // The other connection is served meanwhile.
    transport.send(1, b"ping").expect("it is sent");
    arrived.poll(&mut transport);
    let mut word = [0; 4];
    theirs[1].read_exact(&mut word).expect("it was sent");
    theirs[1].write_all(b"pong").expect("it is read");
    arrived.poll_until(&mut transport, |arrived| arrived.bytes[1] == b"pong");

    let expected = sent.concat();
    let mut stream = theirs.swap_remove(0);
    std::thread::scope(|scope| {
        let length = expected.len();
        let reader = scope.spawn(move || {
            let mut got = vec![0; length];
            stream.read_exact(&mut got).expect("all of it");
            stream.write_all(b"done").expect("it is read");
            (got, stream)
        });
        arrived.poll_until(&mut transport, |arrived| arrived.bytes[0] == b"done");
        let (got, mut stream) = reader.join().expect("no panic");
        assert!(got == expected);
        // All is as before.
        transport.send(0, b"more").expect("it is sent");
        arrived.poll(&mut transport);
        stream.read_exact(&mut word).expect("it was sent");
        assert_eq!(&word, b"more");
    });
}

/// The peer reads nothing before all that it says is read.
fn both_sides_may_have_much_to_say_at_once<T: Make>() {
    let (mut transport, mut theirs) = several::<T>(1);
    let mut stream = theirs.swap_remove(0);
    let limit = Some(Duration::from_secs(10));
    stream.set_write_timeout(limit).expect("a time limit");
    stream.set_read_timeout(limit).expect("a time limit");
    let (said, answered) = (bytes(1, 3_000_000), bytes(2, 3_000_000));
    let (expected, answer) = (said.clone(), answered.clone());
    std::thread::scope(|scope| {
        let peer = scope.spawn(move || {
            stream.write_all(&said).expect("our side reads");
            let mut heard = vec![0; answered.len()];
            stream.read_exact(&mut heard).expect("our side sends");
            (heard, stream)
        });
        let mut arrived = Arrived::new(1);
        for piece in answer.chunks(1_000_000) {
            transport.send(0, piece).expect("it is taken over");
        }
        arrived.poll_until(&mut transport, |_| peer.is_finished());
        let (heard, stream) = peer.join().expect("the peer had its turn");
        assert!(heard == answer);
        drop(stream);
        arrived.poll_until(&mut transport, |arrived| arrived.closed[0].is_some());
        assert!(arrived.bytes[0] == expected);
    });
}

fn the_last_words_come_before_the_end<T: Make>() {
    let (mut transport, mut theirs) = several::<T>(3);
    theirs[1].write_all(b"farewell").expect("it is read");
    theirs.remove(1);
    let mut arrived = Arrived::new(3);
    arrived.poll_until(&mut transport, |arrived| arrived.closed[1].is_some());
    assert_eq!(arrived.bytes[1], b"farewell");
    assert_eq!(arrived.closed, [None, Some(io::ErrorKind::UnexpectedEof), None]);
    assert!(transport.send(1, b"too late").is_err());
    theirs[1].write_all(b"still here").expect("it is read");
    arrived.poll_until(&mut transport, |arrived| arrived.bytes[2] == b"still here");
}

/// Many words and the end come while the thread receives; io_uring's own receive may miss the end then.
fn the_end_comes_that_follows_the_last_words_at_once<T: Make>() {
    let words = bytes(1, 1_000);
    for _ in 0..50 {
        let (mut transport, theirs) = several::<T>(16);
        std::thread::scope(|scope| {
            for mut stream in theirs {
                let words = &words;
                scope.spawn(move || {
                    for word in words.chunks(3) {
                        stream.write_all(word).expect("it is read");
                    }
                });
            }
            let mut arrived = Arrived::new(16);
            arrived.poll_until(&mut transport, |arrived| arrived.closed.iter().all(Option::is_some));
            assert!(arrived.bytes.iter().all(|bytes| bytes == &words));
        });
    }
}

fn the_last_words_come_though_something_was_sent_meanwhile<T: Make>() {
    let (mut transport, mut theirs) = several::<T>(2);
    theirs[1].write_all(b"farewell").expect("it is read");
    theirs.remove(1);
    transport.send(1, b"and now").expect("it is taken over");
    let mut arrived = Arrived::new(2);
    arrived.poll_until(&mut transport, |arrived| arrived.closed[1].is_some());
    assert_eq!(arrived.bytes[1], b"farewell");
    assert_eq!(arrived.closed[0], None);
}

fn a_new_connection_hears_nothing_of_the_old_one<T: Make>() {
    let (mut transport, mut theirs) = several::<T>(2);
    let mut arrived = Arrived::new(2);
    arrived.poll(&mut transport);
    for round in 0..20_u8 {
        // What the old one was told, but not yet us.
        theirs[0].write_all(b"old").expect("it is read");
        let (connection, stream) = pair();
        if round % 2 == 0 {
            transport.close(0);
        }
        transport.replace(0, connection).expect("it is watched");
        theirs[0] = stream;
        theirs[0].write_all(&[round]).expect("it is read");
        arrived.poll_until(&mut transport, |arrived| !arrived.bytes[0].is_empty());
        assert_eq!(arrived.bytes[0], [round]);
        arrived.bytes[0].clear();
    }
    assert_eq!(arrived.closed, [None, None]);
}

fn a_closed_connection_says_what_it_was_to_say<T: Make>() {
    let (mut transport, mut theirs) = several::<T>(2);
    let mut arrived = Arrived::new(2);
    arrived.poll(&mut transport);
    transport.send(0, b"goodbye").expect("it is sent");
    transport.close(0);
    assert!(transport.send(0, b"again").is_err());
    arrived.poll(&mut transport);
    let mut heard = Vec::new();
    theirs[0].read_to_end(&mut heard).expect("it ends");
    assert_eq!(heard, b"goodbye");
    assert_eq!(arrived.closed, [None, None], "who closes need not be told");
    // What is not read does not keep us from closing.
    transport.send(1, &bytes(1, 1_000_000)).expect("it is taken over");
    arrived.poll(&mut transport);
    transport.close(1);
    theirs[1].read_to_end(&mut heard).expect("it ends");
    assert!(heard.len() < 1_000_000);
}

fn what_is_flushed_needs_no_poll<T: Make>() {
    let (mut transport, mut theirs) = several::<T>(1);
    transport.send(0, b"now").expect("it is sent");
    transport.flush();
    let mut word = [0; 3];
    theirs[0].read_exact(&mut word).expect("it was sent");
    assert_eq!(&word, b"now");
    transport.send(0, b"and then").expect("it is sent");
    let mut arrived = Arrived::new(1);
    arrived.poll(&mut transport);
    let mut words = [0; 8];
    theirs[0].read_exact(&mut words).expect("it was sent");
    assert_eq!(&words, b"and then");
}

fn a_wait_ends_in_time<T: Make>() {
    let (mut transport, _theirs) = several::<T>(2);
    for timeout in [Duration::ZERO, Duration::from_micros(300), Duration::from_micros(4_700)] {
        let begin = Instant::now();
        let wait = Wait {
            due: timeout,
            duty: Duration::MAX,
        };
        transport
            .poll(wait, &mut |index: usize, arrival: Arrival<'_>| {
                unreachable!("{index}: {arrival:?}")
            })
            .expect("the system waits");
        // How late it is depends on the machine; it must not be early.
        assert!(begin.elapsed() >= timeout, "{:?} of {timeout:?}", begin.elapsed());
    }
}

/// When something is due, whether what the thread has to do for itself comes before, with it, after it, or never.
fn no_duty_makes_a_wait_end_late_for_a_client<T: Make>() {
    // A machine that is busy may wake us late, but not each time.
    const TRIES: usize = 50;
    const LATE: Duration = Duration::from_millis(20);
    let (mut transport, _theirs) = several::<T>(1);
    let times_ms = [0, 1, 7, 30, 95, 101, 125];
    for (due_ms, duty_ms) in times_ms.iter().flat_map(|due| times_ms.map(|duty| (*due, duty))) {
        let wait = Wait {
            due: Duration::from_millis(due_ms),
            duty: Duration::from_millis(duty_ms),
        };
        let in_time = (0..TRIES).any(|_| {
            let begin = Instant::now();
            transport
                .poll(wait, &mut |index: usize, arrival: Arrival<'_>| {
                    unreachable!("{index}: {arrival:?}")
                })
                .expect("the system waits");
            assert!(
                begin.elapsed() >= wait.shortest().min(SLACK),
                "{:?} of {wait:?}",
                begin.elapsed()
            );
            begin.elapsed() < wait.due + LATE
        });
        assert!(in_time, "{TRIES} waits of {wait:?} all ended more than {LATE:?} late");
    }
}

#[test]
fn a_blocking_connection_does_the_same() {
    what_is_flushed_needs_no_poll::<Blocking>();
    no_duty_makes_a_wait_end_late_for_a_client::<Blocking>();
    both_sides_may_have_much_to_say_at_once::<Blocking>();
    let (mut transport, mut theirs) = several::<Blocking>(1);
    let sent = bytes(1, 200_000);
    let expected = sent.clone();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            theirs[0].write_all(&sent).expect("our side reads");
            drop(theirs);
        });
        let mut arrived = Arrived::new(1);
        arrived.poll_until(&mut transport, |arrived| arrived.closed[0].is_some());
        assert!(arrived.bytes[0] == expected);
        assert_eq!(arrived.closed, [Some(io::ErrorKind::UnexpectedEof)]);
    });
}

#[test]
fn a_blocking_connection_may_be_joined_by_others() {
    let (mut first, mut first_peer) = pair();
    let patience = Some(Duration::from_secs(20));
    first_peer.set_read_timeout(patience).expect("a setting");
    // More than the peer takes at once: what is unsent goes on being sent.
    let much = bytes(1, 2_000_000);
    first.socket().set_nonblocking(true).expect("a setting");
    first.send(&much).expect("it is kept");
    let mut transport = Blocking::new(Some(first), 2).expect("a transport");
    let (second, mut second_peer) = pair();
    transport.replace(1, second).expect("a place");
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut got = vec![0; much.len()];
            first_peer.read_exact(&mut got).expect("all of it comes");
            first_peer.write_all(b"one").expect("our side reads");
            (got == much, first_peer)
        });
        let mut arrived = Arrived::new(2);
        transport.send(1, b"two?").expect("it is there");
        let mut asked = [0; 4];
        second_peer.read_exact(&mut asked).expect("it comes");
        second_peer.write_all(b"two").expect("our side reads");
        arrived.poll_until(&mut transport, |arrived| {
            arrived.bytes.iter().all(|bytes| bytes.len() == 3)
        });
        assert_eq!(arrived.bytes, [b"one".to_vec(), b"two".to_vec()]);
        assert!(reader.join().expect("it reads").0);
    });
    transport.close(0);
    assert!(transport.send(0, b"x").is_err());
    let (again, _peer) = pair();
    transport.replace(0, again).expect("a place");
    assert!(transport.send(0, b"x").is_ok());
}
