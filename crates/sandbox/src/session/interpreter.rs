//! One running interpreter, and one exchange with it at a time: sends a cell, waits, interrupts, gives up, and
//! meanwhile reads the output. Restarting after an interpreter's death is the session's job.

use std::io;
use std::pin::pin;
use std::time::{Duration, Instant};

use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::channel::{Channel, DriverReply, Heard};
use super::keeper::{Ending, Keeper, KeeperOrder};
use super::language::Language;
use super::{CellCall, LostReason, SessionPaths};
use crate::spec::command::{Access, Mount};
use crate::spec::output::{Capture, Captured};
use crate::{Error, Inner, Policy};

/// The directory inside with the driver and its pipes.
const INSIDE: &str = "/run/greenlight-session";

/// How long an interpreter may take to open its pipes.
const START: Duration = Duration::from_secs(30);

/// How long a cell may continue after it was interrupted, and how long finding out why the interpreter died may take. On
/// a busy machine, an interpreter that does as it is told has taken more than a second.
const GRACE: Duration = Duration::from_secs(5);

/// How long output is read after the interpreter has ended, if something keeps the pipes open.
const LAST_OUTPUT: Duration = Duration::from_secs(1);

/// How many calls of one cell are answered. As many more are refused, and then the interpreter is ended.
const MAX_CALLS: u32 = 200;

/// How long to wait for the answer to a call, whose provider has separate limits.
const ANSWER: Duration = Duration::from_secs(24 * 3600);

/// An interpreter in its sandbox. Dropping it ends the sandbox.
pub(super) struct Interpreter {
    channel: Channel,
    keeper: Keeper,
    stdout: pipe::Receiver,
    stderr: pipe::Receiver,
}

/// One exchange.
pub(super) struct Exchange {
    pub(super) fate: InterpreterExit,
    pub(super) stdout: Captured,
    pub(super) stderr: Captured,
    pub(super) wall: Duration,
}

/// How an exchange ended.
pub(super) enum InterpreterExit {
    Answered {
        answer: DriverReply,
        /// Whether the answer came only after an interrupt.
        late: bool,
        interpreter: Box<Interpreter>,
    },
    Lost {
        why: LostReason,
        ending: Ending,
    },
}

/// One cell to run.
pub(super) struct CellRequest<'a> {
    pub(super) code: &'a str,
    pub(super) limit: Duration,
    pub(super) cancel: &'a CancellationToken,
    /// How many bytes of each stream are kept.
    pub(super) keep: usize,
    /// Receives the calls of its code.
    pub(super) calls: Option<&'a mpsc::Sender<CellCall>>,
}

/// Why there is no answer.
enum Silence {
    Died(Ending),
    /// The interpreter is alive, and must be ended for this reason.
    Ends(LostReason),
}

impl Interpreter {
    /// Starts an interpreter, and does not wait until it is ready.
    pub(super) async fn start(
        inner: &Inner,
        language: Language,
        place: &SessionPaths,
        policy: &Policy,
    ) -> Result<Self, Error> {
        let channel = Channel::create(language)?;
        let source = channel.directory().to_owned();
        let target = if inner.backend.has_namespaces() {
            INSIDE.into()
        } else {
            source.clone()
        };
        let mut command = place.command(language.argv(&target));
        command.mounts.push(Mount {
            source,
            target,
            access: Access::ReadOnlyButPipes,
        });
        let launched = inner.launch(inner.spec(&command, policy)).await?;
        Ok(Self {
            channel,
            stdout: pipe::Receiver::from_owned_fd(launched.stdout.into_owned_fd()?)?,
            stderr: pipe::Receiver::from_owned_fd(launched.stderr.into_owned_fd()?)?,
            keeper: Keeper::of(
                (launched.supervisor, launched.resources),
                launched.reports,
                launched.orders,
                policy.limits.wall,
            ),
        })
    }

    /// Whether it died while it was idle.
    pub(super) fn is_dead(&self) -> bool {
        self.keeper.has_ended()
    }

    /// Lets it be idle for at most this long.
    pub(super) async fn rest(&self, time: Duration) {
        self.keeper.tell(KeeperOrder::Rest(time)).await;
    }

    /// Ends it, after giving it a moment to exit: the CPU time of a killed process is unknown.
    pub(super) async fn end(self) -> io::Result<Ending> {
        let Self {
            channel, mut keeper, ..
        } = self;
        drop(channel);
        match timeout(GRACE, keeper.died()).await {
            Ok(ending) => ending,
            Err(_) => keeper.end().await,
        }
    }

    /// Runs one cell. An interpreter that does not answer is ended.
    pub(super) async fn run(self, request: &CellRequest<'_>) -> io::Result<Exchange> {
        let Self {
            mut channel,
            mut keeper,
            mut stdout,
            mut stderr,
        } = self;
        let (mut out, mut err) = (Capture::keeping(request.keep), Capture::keeping(request.keep));
        let mut began = Instant::now();
        let talked = {
            let mut drained = pin!(async { tokio::join!(out.drain(&mut stdout), err.drain(&mut stderr)) });
            let exchange = async {
                let talked = converse(&mut channel, &mut keeper, request, &mut began).await?;
                Ok::<_, io::Error>(match talked {
                    Ok(answered) => Ok((answered, keeper)),
                    Err(Silence::Died(ending)) => Err((None, ending)),
                    Err(Silence::Ends(why)) => Err((Some(why), keeper.end().await?)),
                })
            };
            let mut exchange = pin!(exchange);
            let mut open = true;
            let talked = loop {
                tokio::select! {
                    biased;
                    talked = &mut exchange => break talked?,
                    _ = &mut drained, if open => open = false,
                }
            };
            if talked.is_err() && open {
                // Remaining writers are dead or do not belong to the run; nobody waits for them.
                let _ = timeout(LAST_OUTPUT, drained).await;
            }
            talked
        };
        let wall = began.elapsed();
        let fate = match talked {
            Ok(((answer, late), keeper)) => {
                out.take_what_is_there(&stdout)?;
                err.take_what_is_there(&stderr)?;
                let interpreter = Self {
                    channel,
                    keeper,
                    stdout,
                    stderr,
                };
                InterpreterExit::Answered {
                    answer,
                    late,
                    interpreter: Box::new(interpreter),
                }
            }
            Err((why, ending)) => InterpreterExit::Lost {
                why: why.unwrap_or_else(|| ending.why.clone()),
                ending,
            },
        };
        Ok(Exchange {
            fate,
            stdout: out.finish(),
            stderr: err.finish(),
            wall,
        })
    }
}

/// Runs the exchange, and says whether the answer came only after an interrupt.
async fn converse(
    channel: &mut Channel,
    keeper: &mut Keeper,
    request: &CellRequest<'_>,
    began: &mut Instant,
) -> io::Result<Result<(DriverReply, bool), Silence>> {
    keeper.tell(KeeperOrder::Work).await;
    let greeted = {
        let mut greeting = pin!(channel.greet());
        attend(&mut greeting, keeper, request.cancel, START).await?
    };
    match greeted {
        Ok(Some(())) => {}
        Ok(None) => {
            let reason = format!("the interpreter did not answer within {} s", START.as_secs());
            return Ok(Err(Silence::Ends(LostReason::DidNotStart(reason))));
        }
        Err(silence) => return Ok(Err(silence)),
    }
    *began = Instant::now();
    // An interrupt that arrives before the code runs would be lost, so its time counts from there on.
    let (mut line, mut left) = (channel.request(request.code), START);
    let (mut begun, mut late, mut calls) = (false, false, 0);
    loop {
        let since = Instant::now();
        let heard = {
            let mut exchange = pin!(channel.exchange(&line));
            match attend(&mut exchange, keeper, request.cancel, left).await? {
                Ok(None) if !late => {
                    late = true;
                    keeper.tell(KeeperOrder::Interrupt).await;
                    attend(&mut exchange, keeper, request.cancel, GRACE).await?
                }
                heard => heard,
            }
        };
        // The time for answering a call does not count.
        left = if late { GRACE } else { left }.saturating_sub(since.elapsed());
        line = match heard {
            Ok(Some(Heard::Begun)) => {
                if !begun && !late {
                    (begun, left) = (true, request.limit);
                    *began = Instant::now();
                }
                String::new()
            }
            Ok(Some(Heard::Answer(answer))) => return Ok(Ok((answer, late))),
            Ok(Some(Heard::Call { number, text })) => {
                calls += 1;
                match answer_call(text, calls, keeper, request).await? {
                    Ok(said) => Channel::reply(number, &said),
                    Err(silence) => return Ok(Err(silence)),
                }
            }
            Ok(None) => return Ok(Err(Silence::Ends(LostReason::TimedOut))),
            Err(silence) => return Ok(Err(silence)),
        };
    }
}

/// Answers a call, the `count`th of its cell.
async fn answer_call(
    text: String,
    count: u32,
    keeper: &mut Keeper,
    request: &CellRequest<'_>,
) -> io::Result<Result<String, Silence>> {
    let sender = match request.calls {
        _ if count > 2 * MAX_CALLS => {
            let why = "its code makes too many calls".to_owned();
            return Ok(Err(Silence::Ends(LostReason::ChannelBroken(why))));
        }
        Some(sender) if count <= MAX_CALLS => sender,
        _ => return Ok(Ok("not done: too many calls in one block.".into())),
    };
    let (answer, said) = oneshot::channel();
    let mut waited = pin!(async {
        // If the receiver is gone, there is no answer.
        let sent = sender.send(CellCall { text, answer }).await.is_ok();
        let said = if sent { said.await.ok() } else { None };
        Ok(said.unwrap_or_else(|| "not done: nobody answers.".into()))
    });
    Ok(attend(&mut waited, keeper, request.cancel, ANSWER)
        .await?
        .and_then(|said| said.ok_or(Silence::Ends(LostReason::TimedOut))))
}

/// Waits for an answer until the time limit; `None` if it is reached.
async fn attend<T>(
    answer: &mut (impl Future<Output = io::Result<T>> + Unpin),
    keeper: &mut Keeper,
    cancel: &CancellationToken,
    limit: Duration,
) -> io::Result<Result<Option<T>, Silence>> {
    let broken = tokio::select! {
        biased;
        () = cancel.cancelled() => return Ok(Err(Silence::Ends(LostReason::Cancelled))),
        answer = answer => match answer {
            Ok(answer) => return Ok(Ok(Some(answer))),
            Err(broken) => broken,
        },
        ending = keeper.died() => return Ok(Err(Silence::Died(ending?))),
        () = sleep(limit) => return Ok(Ok(None)),
    };
    // If the interpreter died, its channel was closed, which is noticed first.
    Ok(Err(match timeout(GRACE, keeper.died()).await {
        Ok(ending) => Silence::Died(ending?),
        Err(_) => Silence::Ends(LostReason::ChannelBroken(broken.to_string())),
    }))
}
