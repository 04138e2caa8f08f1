// Interrupts a test that blocks the event loop, if tests are known to hang: the test fails, and the thread continues.
// A test that hangs in another way takes the thread with it.
'use strict';

const vm = require('node:vm');

const call = new vm.Script(`globalThis[Symbol.for('greenlight guarded')]()`);
const key = Symbol.for('greenlight guarded');
let limit = 0;
let isTripped = false;

function run(work) {
  if (limit === 0) return work();
  globalThis[key] = work;
  try {
    return call.runInThisContext({ timeout: limit });
  } catch (error) {
    isTripped ||= error?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
    throw error;
  }
}

module.exports = {
  run,
  /// From now on, limits each function of a test to this many milliseconds; 0 removes the limit.
  set(ms) {
    limit = Math.round(ms);
    isTripped = false;
  },
  isTripped: () => isTripped,
};
