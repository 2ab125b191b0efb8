/**
 * Long enough for a machine ten times as slow: a bound that is hit means that the condition never
 * comes true.
 */
const BOUND_MS = 60_000;

/** Until the condition holds; throws after a minute. */
export async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  const endMs = Date.now() + BOUND_MS;
  while (!(await holds())) {
    if (Date.now() > endMs) throw new Error('the condition did not come true in time');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
