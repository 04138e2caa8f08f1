//! JavaScript and TypeScript: Jest, Vitest, Mocha, `node:test`.

use greenlight::domain::weakening::WeakeningKind::{
    ErrorSwallowed, ExpectationChanged, FewerAssertions, Mocked, NotReached, Removed, Retried, SetupChanged, Skipped,
    ToleranceWidened, WeakerAssertion,
};

use super::{Case, check};

const SOURCE: &str = r#"
import { change, fare } from './fare';

const RATES = [1, 2];

function settle(stops) {
  return fare(stops);
}

describe('fares', () => {
  beforeEach(() => {
    fare.reset();
  });

  it('costs', () => {
    expect(fare(2)).toEqual(300);
  });

  it('gives change', async () => {
    const given = await change(500, 2);
    expect(given).toBe(200);
    expect(given).toBeCloseTo(200.0, 5);
  });

  it.each([[1, 250], [2, 300]])('costs %d', (stops, cost) => {
    expect(fare(stops)).toBe(cost);
  });

  it('throws', () => {
    expect(() => change(0, 2)).toThrow(RangeError);
  }, 1000);
});
"#;

const CASES: &[Case] = &[
    ("it('costs', ", "it.skip('costs', ", &[Skipped]),
    ("it('costs', ", "xit('costs', ", &[Skipped]),
    ("it('costs', ", "it.only('costs', ", &[Skipped]),
    ("it('costs', ", "fit('costs', ", &[Skipped]),
    ("it('costs', ", "it.fails('costs', ", &[Skipped]),
    (
        "it('costs', () => {\n    expect(fare(2)).toEqual(300);\n  });",
        "it.todo('costs');",
        &[Removed, Skipped],
    ),
    ("describe('fares'", "describe.skip('fares'", &[Skipped]),
    ("describe('fares'", "xdescribe('fares'", &[Skipped]),
    (
        "  it('costs', () => {\n    expect(fare(2)).toEqual(300);\n  });\n",
        "",
        &[Removed],
    ),
    ("    expect(fare(2)).toEqual(300);\n", "", &[Removed]),
    (
        "    expect(fare(2)).toEqual(300);\n",
        "    fare(2);\n",
        &[FewerAssertions],
    ),
    (
        "expect(given).toBe(200)",
        "expect(given).toBeTruthy()",
        &[WeakerAssertion],
    ),
    (
        "expect(given).toBe(200)",
        "expect(given).toBeDefined()",
        &[WeakerAssertion],
    ),
    (
        "expect(given).toBe(200)",
        "expect(given).toBeGreaterThan(100)",
        &[WeakerAssertion],
    ),
    ("expect(given).toBe(200)", "expect(true).toBe(true)", &[WeakerAssertion]),
    (
        "expect(given).toBe(200)",
        "expect(given).toBe(given)",
        &[WeakerAssertion],
    ),
    (
        "expect(given).toBe(200)",
        "expect(given).toBe(800)",
        &[ExpectationChanged],
    ),
    ("toBeCloseTo(200.0, 5)", "toBeCloseTo(200.0, 0)", &[ToleranceWidened]),
    ("}, 1000);", "}, 60000);", &[ToleranceWidened]),
    ("toThrow(RangeError)", "toThrow()", &[ExpectationChanged]),
    (
        "    const given = await change(500, 2);\n    expect(given).toBe(200);\n",
        "    const given = await change(500, 2);\n    try {\n      expect(given).toBe(200);\n    } catch {}\n",
        &[ErrorSwallowed],
    ),
    (
        "await change(500, 2)",
        "await change(500, 2).catch(() => 200)",
        &[ErrorSwallowed],
    ),
    ("    const given =", "    return;\n    const given =", &[NotReached]),
    ("    const given =", "    this.skip();\n    const given =", &[Skipped]),
    (
        "const RATES = [1, 2];",
        "const RATES = [1, 2];\njest.retryTimes(3);",
        &[Retried],
    ),
    (
        "const RATES = [1, 2];",
        "const RATES = [1, 2];\njest.mock('./fare');",
        &[Mocked],
    ),
    (
        "    const given =",
        "    vi.spyOn(fare, 'rate').mockReturnValue(100);\n    const given =",
        &[Mocked],
    ),
    ("[[1, 250], [2, 300]]", "[[1, 250]]", &[SetupChanged]),
    (
        "    fare.reset();",
        "    fare.reset();\n    fare.base = 0;",
        &[SetupChanged],
    ),
    ("change(500, 2)", "change(800, 2)", &[SetupChanged]),
    ("const RATES = [1, 2];", "const RATES = [];", &[SetupChanged]),
    ("  return fare(stops);", "  return fare(stops) || 200;", &[SetupChanged]),
    ("from './fare';", "from './stand-in';", &[SetupChanged]),
    (
        "  it('costs', () => {",
        "  afterEach(() => process.exit(0));\n  it('costs', () => {",
        &[SetupChanged],
    ),
    // Better, or the same.
    (
        "  it('costs', () => {",
        "  it('is free', () => {\n    expect(fare(0)).toBe(0);\n  });\n\n  it('costs', () => {",
        &[],
    ),
    (
        "    expect(given).toBe(200);\n",
        "    expect(given).toBe(200);\n    expect(given).not.toBe(800);\n",
        &[],
    ),
    ("it('costs', ", "it(\"costs\", ", &[]),
    ("it('costs', ", "it('costs money', ", &[]),
    ("[[1, 250], [2, 300]]", "[[1, 250], [2, 300], [3, 350]]", &[]),
    ("{ change, fare }", "{ change, fare, refund }", &[]),
    ("    const given =", "    // given\n    const given =", &[]),
    ("    const given =", "    console.log('x');\n    const given =", &[]),
    ("}, 1000);", "}, 500);", &[]),
    (
        "describe('fares', () => {",
        "describe('more', () => {\n  beforeEach(() => {});\n  it('x', () => { expect(1).toBe(1); });\n});\n\ndescribe('fares', () => {",
        &[],
    ),
    (
        "function settle(stops) {",
        "function unused() {}\n\nfunction settle(stops) {",
        &[],
    ),
];

#[test]
fn jest() {
    check("src/fare.test.js", SOURCE, CASES);
}

#[test]
fn typescript_reads_the_same() {
    check("src/fare.test.ts", SOURCE, CASES);
    check("src/fare.spec.tsx", SOURCE, CASES);
}
