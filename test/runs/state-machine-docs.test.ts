import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { decisionOn, type Fact, FACTS, type Phase } from '../../src/runs/state-machine.ts';

it('docs/architecture.md has the table of decisions as the code has it', async () => {
  const page = await readFile('docs/architecture.md', 'utf8');
  const cells = (line: string): string[] =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
  const [head = '', , ...rows] = (/\| Fact .*\n(?:\|.*\n)+/.exec(page)?.[0] ?? '')
    .trim()
    .split('\n');
  const phases = cells(head)
    .slice(1)
    .map((cell) => cell.replaceAll('`', '') as Phase);
  expect(rows.map(cells)).toEqual(
    FACTS.map((fact: Fact) => [`\`${fact}\``, ...phases.map((phase) => decisionOn(phase, fact))]),
  );
  expect(phases).toEqual(['open', 'unconfirmed', 'stable', 'late']);
});
