// Runs cells of JavaScript one after another in one context.
//
// Each line of the pipe `requests` is `<id> <base64 of the code>`; each is answered with two lines in the pipe
// `responses`: `<id> run` when it begins, and `<id> ok|err|int <base64 of the value or of the error>`. The output of
// cells goes elsewhere.
'use strict';

const fs = require('node:fs');
const { createRequire } = require('node:module');
const net = require('node:net');
const util = require('node:util');
const vm = require('node:vm');

const LONGEST = 64 << 10;

const directory = process.argv[2];
const responses = fs.openSync(`${directory}/responses`, fs.constants.O_WRONLY);
// A socket, because a read in the thread pool would delay `process.exit`.
const requests = new net.Socket({
  fd: fs.openSync(`${directory}/requests`, fs.constants.O_RDONLY),
  readable: true,
  writable: false,
});

// Handles top-level `await` like Node's REPL, which keeps declarations outside of the wrapping function.
let withoutAwait = () => null;
try {
  withoutAwait = require('internal/repl/await').processTopLevelAwait;
} catch {
  // In this case, names that such a cell declares stay local to it.
  withoutAwait = (code) => (/\bawait\b/.test(code) ? `(async () => {\n${code}\n})()` : null);
}
process.execArgv.length = 0;
process.argv.splice(1);

globalThis.require = createRequire(`${process.cwd()}/`);
globalThis.__dirname = process.cwd();

const exit = process.exit.bind(process);
const { writeSync } = fs;
const { race } = Promise;
let interrupt = null;

function capped(text) {
  const bytes = Buffer.from(text);
  if (bytes.length <= LONGEST) return bytes;
  const half = LONGEST / 2 - 16;
  return Buffer.concat([bytes.subarray(0, half), Buffer.from('\n[...]\n'), bytes.subarray(-half)]);
}

function respond(text) {
  let line = Buffer.from(`${text}\n`);
  while (line.length > 0) line = line.subarray(writeSync(responses, line));
}

function answer(id, status, text) {
  respond(`${id} ${status} ${capped(text).toString('base64')}`);
}

function show(value) {
  return util.inspect(value, { depth: 4, maxArrayLength: 200, maxStringLength: LONGEST, breakLength: 120 });
}

function describe(error) {
  if (!util.types.isNativeError(error)) return `Uncaught ${show(error)}`;
  // The frames below the cell belong to this file and to Node.
  const foreign = (line) => /^ +at /.test(line) && (line.includes(__filename) || line.includes('(node:'));
  return show(error)
    .split('\n')
    .filter((line) => !foreign(line))
    .join('\n');
}

function compile(code, filename) {
  const options = { filename, importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER };
  if (/^\s*\{/.test(code) && !/;\s*$/.test(code)) {
    try {
      // Parsed as an object first.
      return [new vm.Script(`(${code.trim()})\n`, options), false];
    } catch {
      // It is a block.
    }
  }
  if (code.includes('await')) {
    let asynchronous = null;
    try {
      asynchronous = withoutAwait(code);
    } catch {
      // The error of the plain script is more helpful.
    }
    if (asynchronous !== null) return [new vm.Script(asynchronous, options), true];
  }
  return [new vm.Script(code, options), false];
}

// Output must not come after the answer, or be lost when the process exits.
const printed = [process.stdout, process.stderr];
for (const stream of printed) stream._handle?.setBlocking?.(true);
const { write } = printed[0];
const flushed = (stream) => new Promise((resolve) => write.call(stream, '', resolve));

async function perform(id, code) {
  try {
    const [script, asynchronous] = compile(code, `<cell ${id}>`);
    respond(`${id} run`);
    let value = script.runInThisContext({ breakOnSigint: true });
    if (asynchronous) {
      const interruption = new Promise((_, reject) => {
        interrupt = reject;
      });
      value = await race.call(Promise, [value, interruption]);
      if (typeof value === 'object' && value !== null && 'value' in value) value = value.value;
    }
    const text = value === undefined ? '' : show(value);
    for (const stream of printed) if (stream.writableLength > 0) await flushed(stream);
    answer(id, 'ok', text);
  } catch (error) {
    const interrupted = error?.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED';
    const text = describe(error);
    for (const stream of printed) if (stream.writableLength > 0) await flushed(stream);
    answer(id, interrupted ? 'int' : 'err', text);
  } finally {
    interrupt = null;
  }
}

process.on('SIGINT', () => {
  const error = new Error('Script execution was interrupted by `SIGINT`');
  error.stack = `Error: ${error.message}`;
  error.code = 'ERR_SCRIPT_EXECUTION_INTERRUPTED';
  interrupt?.(error);
});
// An exception in a callback of an earlier cell must not lose the state.
for (const kind of ['uncaughtException', 'unhandledRejection']) {
  process.on(kind, (error) => console.error(describe(error)));
}

let unread = [];
let turn = Promise.resolve();
requests.on('data', (chunk) => {
  for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10)) {
    const line = Buffer.concat([...unread, chunk.subarray(0, end)]).toString();
    unread = [];
    chunk = chunk.subarray(end + 1);
    const [id, code] = line.split(' ');
    turn = turn.then(() => perform(id, Buffer.from(code, 'base64').toString())).catch(() => exit(70));
  }
  unread.push(chunk);
});
requests.on('error', () => exit(70));
requests.on('end', () => exit(0));
answer('0', 'ok', '');
