//! One run: hosts, air, daemons if the scheme has them, the file, and the small requests beside it.

use std::io;
use std::net::TcpStream;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, ScopedJoinHandle};

use channel::Direction;
use edges::clock;
use units::{Duration, Instant};

use super::addresses::{ECHO_SERVER, FILE_SERVER};
use super::children::Hop;
use super::content::Content;
use super::error::DemoError;
use super::meter::{Meter, Received, Window};
use super::network::Network;
use super::plan::{Echo, Environment, RunPlan, RunResult, Sample, Transfer};
use super::{echo, http, socket};

/// Time of the link at which the transfer begins; equal in every run, so that every run meets the same fades.
const START: Duration = Duration::from_secs(2);
/// Time limit of the first small request.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time limit of one attempt of it.
const ATTEMPT: std::time::Duration = std::time::Duration::from_secs(3);
const PAUSE: std::time::Duration = std::time::Duration::from_millis(50);
/// Time that the ends get to notice that the run is over.
const FAREWELL: std::time::Duration = std::time::Duration::from_secs(2);

/// Progress of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Progress {
    /// Time since the start of the transfer.
    pub(crate) elapsed: Duration,
    /// Bytes that have arrived, in both directions together.
    pub(crate) bytes: u64,
}

/// A callback that receives the progress of a run, and can stop it.
pub(crate) type Observer<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// Carries out `plan`. Must be called from a thread that outlives it, because child processes end with the thread that
/// started them.
pub(crate) fn measure(
    plan: &RunPlan,
    machinery: &Environment,
    observer: Observer<'_>,
) -> Result<RunResult, DemoError> {
    let network = Network::build(&plan.scheme)?;
    let (mobile, fixed) = (network.mobile.clone(), network.fixed.clone());
    let mut hop = Hop::start(plan, machinery, network)?;
    let listen = |address| {
        let listener = fixed.run(|| socket::listen(address, &plan.sender))?;
        listener.map_err(DemoError::failed("listen on the fixed host"))
    };
    let connect = |address, patience| {
        mobile
            .run(|| socket::connect(address, &plan.sender, patience))
            .unwrap_or_else(|error| Err(io::Error::other(error)))
    };
    let files = listen(FILE_SERVER)?;
    echo::serve(listen(ECHO_SERVER)?);
    let (_, echo_server) = plan.scheme.servers();
    let probe = first_contact(
        &|patience| connect(echo_server, patience),
        &mut hop,
        observer,
    )?;
    let start = (hop.origin() + START).max(clock::monotonic());
    while clock::monotonic() < start {
        thread::sleep(PAUSE.min(start.since(clock::monotonic()).into()));
        watch(observer, Progress::default())?;
    }
    let run = Run::new(
        plan,
        Window {
            start,
            end: start + plan.time,
        },
    );
    let uploads = run.serve(files);
    let used = hop.usage();
    let (echoes, transfers) = thread::scope(|scope| {
        let echo_stop = &run.echo;
        let echoes = scope.spawn(move || echo::probe(&probe, start, echo_stop));
        let workers = run.spawn(scope, &connect);
        let watched = run.watch(&workers, &mut hop, observer);
        run.stop();
        watched?;
        let transfers = run.collect(workers, &uploads);
        let echoes = echoes
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok::<_, DemoError>((echoes, transfers))
    })?;
    let tunnel = used
        .zip(hop.usage())
        .map(|(before, after)| after.since(before));
    let start = Instant::ZERO + start.since(hop.origin());
    Ok(RunResult {
        plan: plan.clone(),
        transfers,
        echoes: echoes.map_err(DemoError::failed("send small requests"))?,
        start,
        emulator: hop.end()?,
        tunnel,
    })
}

fn watch(observer: Observer<'_>, progress: Progress) -> Result<(), DemoError> {
    match observer(progress) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(DemoError::Interrupted),
    }
}

type Connect<'a> =
    dyn Fn(std::net::SocketAddr, std::time::Duration) -> io::Result<TcpStream> + Sync + 'a;

/// Opens the connection of the small requests: before the file begins, so that the start of the daemons is not part of
/// any figure.
fn first_contact(
    connect: &dyn Fn(std::time::Duration) -> io::Result<TcpStream>,
    hop: &mut Hop,
    observer: Observer<'_>,
) -> Result<TcpStream, DemoError> {
    let deadline = clock::monotonic() + PATIENCE;
    loop {
        let error = match connect(ATTEMPT) {
            Ok(stream) => return Ok(stream),
            Err(error) => error,
        };
        hop.check()?;
        watch(observer, Progress::default())?;
        if clock::monotonic() > deadline {
            return Err(DemoError::Child(format!(
                "no connection across the hop: {error}"
            )));
        }
        thread::sleep(PAUSE);
    }
}

/// State that the parts of a run share.
struct Run<'a> {
    plan: &'a RunPlan,
    window: Window,
    down: Meter,
    up: Arc<Meter>,
    echo: Meter,
}

/// Direction and thread of a transfer's client; for a download, the thread returns the received data.
type Worker<'scope> = (
    Direction,
    ScopedJoinHandle<'scope, io::Result<Option<Received>>>,
);

impl<'a> Run<'a> {
    fn new(plan: &'a RunPlan, window: Window) -> Self {
        let (down, up, echo) = (Meter::default(), Arc::default(), Meter::default());
        Self {
            plan,
            window,
            down,
            up,
            echo,
        }
    }

    /// Starts the HTTP server; returns the receiver of uploads.
    fn serve(&self, listener: std::net::TcpListener) -> Receiver<Received> {
        let (uploads, received) = mpsc::channel();
        let site = http::Site {
            seed: self.plan.seed,
            size: self.plan.size.get(),
            meter: Arc::clone(&self.up),
            uploads,
            window: self.window,
        };
        http::serve(listener, site);
        received
    }

    fn spawn<'scope>(
        &'scope self,
        scope: &'scope thread::Scope<'scope, '_>,
        connect: &'scope Connect<'scope>,
    ) -> Vec<Worker<'scope>> {
        let directions = self.plan.way.directions().iter();
        directions
            .map(|direction| {
                (
                    *direction,
                    scope.spawn(move || self.transfer(*direction, connect)),
                )
            })
            .collect()
    }

    /// Runs the mobile host's part of one transfer.
    fn transfer(
        &self,
        direction: Direction,
        connect: &Connect<'_>,
    ) -> io::Result<Option<Received>> {
        let (server, _) = self.plan.scheme.servers();
        let stream = connect(server, self.plan.time.into())?;
        match direction {
            Direction::Down => Ok(Some(http::get(
                &stream,
                FILE_SERVER,
                self.window,
                &self.down,
            )?)),
            Direction::Up => {
                let size = self.plan.size.get();
                let content = (Content::new(self.plan.seed, size), size);
                http::put(&stream, FILE_SERVER, content, (self.window, &self.up))?;
                // The server reports when it has everything; closing earlier would cut it off.
                stream.set_read_timeout(Some(PAUSE))?;
                let mut answer = [0; 1];
                while !self.up.is_stopped() && clock::monotonic() < self.window.end {
                    match io::Read::read(&mut &stream, &mut answer) {
                        Err(error) if super::meter::is_pause(&error) => {}
                        _ => break,
                    }
                }
                Ok(None)
            }
        }
    }

    /// Waits until every transfer is done, its time is over, or the observer stops it.
    fn watch(
        &self,
        workers: &[Worker<'_>],
        hop: &mut Hop,
        observer: Observer<'_>,
    ) -> Result<(), DemoError> {
        loop {
            let now = clock::monotonic();
            let bytes = self.down.bytes() + self.up.bytes();
            watch(
                observer,
                Progress {
                    elapsed: now.since(self.window.start),
                    bytes,
                },
            )?;
            hop.check()?;
            if workers.iter().all(|(_, worker)| worker.is_finished()) || now >= self.window.end {
                return Ok(());
            }
            thread::sleep(PAUSE);
        }
    }

    fn stop(&self) {
        self.down.stop();
        self.up.stop();
        self.echo.stop();
    }

    fn collect(&self, workers: Vec<Worker<'_>>, uploads: &Receiver<Received>) -> Vec<Transfer> {
        workers
            .into_iter()
            .map(|(direction, worker)| {
                let done = worker
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                let received = done.and_then(|received| match received {
                    Some(received) => Ok(received),
                    None => uploads.recv_timeout(FAREWELL).map_err(io::Error::other),
                });
                self.judge(direction, received)
            })
            .collect()
    }

    fn judge(&self, direction: Direction, received: io::Result<Received>) -> Transfer {
        let received = match received {
            Ok(received) => received,
            Err(error) => {
                let failure = Some(error.to_string());
                return Transfer {
                    direction,
                    samples: Vec::new(),
                    intact: false,
                    failure,
                };
            }
        };
        let mut samples = received.samples;
        let bytes = samples.last().map_or(0, |sample| sample.bytes);
        if !received.whole {
            // A request without a reply counts with its waiting time until the end.
            let at = self
                .window
                .end
                .min(clock::monotonic())
                .since(self.window.start);
            samples.push(Sample { at, bytes });
        }
        let expected = Content::digest(self.plan.seed, bytes);
        Transfer {
            direction,
            samples,
            intact: expected.as_ref() == received.digest.as_ref(),
            failure: received.failure.map(|error| error.to_string()),
        }
    }
}

/// Returns the delays of the significant small requests: those with a reply, and of the others those that have waited
/// longer than most of the answered ones.
pub(crate) fn telling(echoes: &[Echo]) -> Vec<Duration> {
    let mut answered: Vec<_> = echoes
        .iter()
        .filter(|echo| echo.answered)
        .map(|echo| echo.took)
        .collect();
    answered.sort_unstable();
    let median = answered
        .get(answered.len() / 2)
        .copied()
        .unwrap_or(Duration::ZERO);
    let late = echoes
        .iter()
        .filter(|echo| !echo.answered && echo.took > median);
    answered.extend(late.map(|echo| echo.took));
    answered.sort_unstable();
    answered
}
