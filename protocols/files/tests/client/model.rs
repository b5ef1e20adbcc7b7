//! Random operations, beside a file that is nothing but bytes.

use bytes::Bytes;
use files::{BlockSize, Config, OpenFile, Operation, Reply};
use machine::RandomStream;
use nfs::{FileHandle, NewAttributes};
use units::Duration;

use crate::drive::{Pair, Way, client, percent};

/// The longest file.
const FILE_MAX: u64 = 60_000;

struct Model {
    pair: Pair,
    random: RandomStream,
    file: FileHandle,
    open: OpenFile,
    content: Vec<u8>,
    config: Config,
}

impl Model {
    fn new(seed: u64) -> Self {
        let mut random = RandomStream::named(seed, "model");
        let percent = |random: &mut RandomStream, most| percent(random.below(most));
        let faults = fileserver::Faults {
            repeated_requests: percent(&mut random, 5),
            delayed_replies: percent(&mut random, 5),
            delay: Duration::from_millis(50),
            try_later: percent(&mut random, 3),
            short_transfers: percent(&mut random, 20),
            ..fileserver::Faults::default()
        };
        let server = fileserver::Config {
            seed,
            faults,
            ..fileserver::Config::default()
        };
        let way = Way {
            delay: Duration::from_millis(1 + random.below(20)),
            loss: percent(&mut random, 15),
        };
        let config = Config {
            block: BlockSize::Fixed(1_024 << random.below(4)),
            dirty_limit: units::Bytes::kibi(64),
            ..Config::default()
        };
        let mut pair = Pair::new(config.clone(), server, way);
        let (open, found) = pair.create("file");
        Self {
            pair,
            random,
            file: found.file,
            open,
            content: Vec::new(),
            config,
        }
    }

    fn range(&mut self) -> (u64, usize) {
        let offset = self.random.below(FILE_MAX);
        let length = 1 + self.random.below((FILE_MAX - offset).min(9_000));
        (offset, length as usize)
    }

    fn write(&mut self) {
        let (offset, length) = self.range();
        let mut data = vec![0; length];
        self.random.fill(&mut data);
        self.pair.write(self.open, offset, &data).expect("written");
        let (start, end) = (offset as usize, offset as usize + length);
        self.content.resize(self.content.len().max(end), 0);
        self.content[start..end].copy_from_slice(&data);
    }

    fn read(&mut self) {
        let (offset, length) = self.range();
        let got = self
            .pair
            .read(self.open, offset, length as u32)
            .expect("data");
        let end = self.content.len();
        let expected = &self.content[end.min(offset as usize)..end.min(offset as usize + length)];
        assert_same(&got, expected, offset);
    }

    fn resize(&mut self) {
        let size = self.random.below(FILE_MAX);
        let attributes = NewAttributes {
            size: Some(size),
            ..NewAttributes::default()
        };
        let file = self.file;
        let reply = self
            .pair
            .call(Operation::SetAttributes { file, attributes });
        self.content.resize(size as usize, 0);
        let told = matches!(reply, Ok(Reply::Attributes(told)) if told.size == size);
        assert!(told, "{size}: {reply:?}");
    }

    fn look(&mut self) {
        let reply = self.pair.call(Operation::Attributes(self.file));
        let Ok(Reply::Attributes(told)) = reply else {
            panic!("{reply:?}");
        };
        assert_eq!(told.size, self.content.len() as u64);
    }

    fn flush(&mut self) {
        self.pair.flush(self.open).expect("flushed");
        let stored = self.pair.server.stored("file").expect("the file");
        assert_same(&stored, &self.content, 0);
    }

    fn reopen(&mut self) {
        self.pair.close(self.open);
        let (open, found) = self.pair.open(self.file);
        self.open = open;
        assert_eq!(found.attributes.size, self.content.len() as u64);
    }

    fn restart(&mut self) {
        self.pair.tell_server(fileserver::Input::Restart);
    }

    /// Several writes at once, of which none waits for another.
    fn burst(&mut self) {
        let mut tickets = Vec::new();
        for _ in 0..10 {
            let (offset, length) = self.range();
            let mut data = vec![0; length];
            self.random.fill(&mut data);
            let (start, end) = (offset as usize, offset as usize + length);
            self.content.resize(self.content.len().max(end), 0);
            self.content[start..end].copy_from_slice(&data);
            let (open, data) = (self.open, Bytes::from(data));
            tickets.push(self.pair.start(Operation::Write { open, offset, data }));
        }
        for ticket in tickets {
            self.pair.end(ticket).expect("written");
        }
    }

    fn step(&mut self) {
        match self.random.below(24) {
            0..=7 => self.write(),
            8..=14 => self.read(),
            15 | 16 => self.resize(),
            17 | 18 => self.look(),
            19 => self.flush(),
            20 => self.reopen(),
            21 => self.restart(),
            22 => self.burst(),
            _ => {
                let span = Duration::from_millis(self.random.below(4_000));
                self.pair.wait(span);
            }
        }
    }
}

/// Says where bytes from `offset` on differ.
fn assert_same(got: &[u8], expected: &[u8], offset: u64) {
    let differ = got
        .iter()
        .zip(expected)
        .position(|(one, other)| one != other);
    if let Some(at) = differ {
        panic!("the byte at {} is another", offset + at as u64);
    }
    assert_eq!(got.len(), expected.len(), "from {offset} on");
}

#[test]
fn random_operations_have_the_outcome_of_a_plain_file() {
    for seed in 0..60 {
        let mut model = Model::new(seed);
        for step in 0..250 {
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| model.step()));
            assert!(outcome.is_ok(), "seed {seed}, step {step}");
        }
        model.flush();
    }
}

#[test]
fn the_client_keeps_the_contract_of_machines() {
    for seed in 0..4 {
        let mut model = Model::new(seed);
        for _ in 0..60 {
            model.step();
        }
        let mut before = units::Instant::ZERO;
        let script = model.pair.told.into_iter().map(|(when, input)| {
            let delay = when.since(std::mem::replace(&mut before, when));
            (delay, input)
        });
        let script: Vec<_> = script.collect();
        let config = model.config;
        let build = || client(config.clone());
        machine::conformance::check(build, &script, Duration::from_secs(60));
    }
}
