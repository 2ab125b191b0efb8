/** What the tests of pages in Chromium check alike. */
import axe from 'axe-core';
import { expect } from 'vitest';
import type { Tab } from './chromium.ts';

export const LOOKS = [
  ['light', 1280],
  ['dark', 1280],
  ['light', 360],
  ['dark', 360],
] as const;

export async function look(tab: Tab, scheme: 'light' | 'dark', width: number): Promise<void> {
  await tab.send('Emulation.setEmulatedMedia', {
    features: [{ name: 'prefers-color-scheme', value: scheme }],
  });
  const size = { width, height: 900, deviceScaleFactor: 1, mobile: width < 500 };
  await tab.send('Emulation.setDeviceMetricsOverride', size);
}

/**
 * The page in the tab, with all blocks open, has no violation of axe and fits the window.
 * @param least rules that have to apply to it
 */
export async function expectAccessible(
  tab: Tab,
  scheme: 'light' | 'dark',
  least = 16,
): Promise<void> {
  await tab.evaluate(
    "document.querySelectorAll('details').forEach((each) => { each.open = true; })",
  );
  await tab.evaluate(`${axe.source}; null`);
  const rules =
    'axe.run(document).then(({ violations, passes }) => ({ passes: passes.length, violations: ' +
    "violations.map(({ id, nodes }) => id + ': ' + nodes[0].html) }))";
  const { passes, violations } = await tab.evaluate<{ passes: number; violations: string[] }>(
    rules,
  );
  expect(violations).toEqual([]);
  expect(passes).toBeGreaterThanOrEqual(least);
  expect(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  const back = await tab.evaluate('getComputedStyle(document.body).backgroundColor');
  expect(back).toBe(scheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(20, 23, 26)');
}
