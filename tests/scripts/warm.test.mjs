// The JavaScript that judges edits: each of its modules can be required alone, and a project gets in the way of none.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../../crates/repair/src/warm/node/', import.meta.url));
const require = createRequire(import.meta.url);
const names = fs.readdirSync(folder).filter((name) => name.endsWith('.js'));

test('each module is required alone', () => {
  for (const name of names) {
    execFileSync(process.execPath, ['-e', 'require(process.argv[1])', path.join(folder, name)], { timeout: 60_000 });
  }
});

test('what is loaded from texts is in no cache, and knows only its own', () => {
  const load = require(path.join(folder, 'load.js'));
  const texts = { 'a.js': "exports.b = require('./b.js');", 'b.js': "module.exports = [require('node:path').sep];" };
  const before = Object.keys(require.cache).length;
  const requireShipped = load(texts, require);
  assert.deepEqual(requireShipped('./a.js').b, [path.sep]);
  assert.equal(requireShipped('./b.js'), requireShipped('./a.js').b);
  assert.throws(() => requireShipped('./c.js'), /there is no c\.js/);
  assert.equal(Object.keys(require.cache).length, before);
});

test('the words of a runner are found in a script', () => {
  const { find } = require(path.join(folder, 'command.js'));
  assert.deepEqual(find(['sh', '-c', 'NODE_ENV=test mocha -r x "$@"', 'sh', 'test/a.js'], 'mocha'), {
    words: ['-r', 'x', 'test/a.js'],
    env: { NODE_ENV: 'test' },
  });
  assert.equal(find(['sh', '-c', 'mocha $FILES'], 'mocha'), null);
});

test('a pass runs the tests that are wanted and what is inside of them', () => {
  const { begin } = require(path.join(folder, 'results.js'));
  const run = begin({ names: new Set(['sums > adds']), stops: true });
  assert.ok(run.wants('sums') && run.wants('sums > adds > twice'));
  assert.ok(!run.wants('others'));
  run.end('sums > adds', false);
  assert.ok(run.stopped);
});
