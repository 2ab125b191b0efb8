import { describe, expect, test } from 'vitest';
import { capture, TASKS, taskView } from './capture.ts';

const PAGE = { has_more: false };

describe('a list on a terminal', () => {
  test('shows chosen fields in the given order', async () => {
    const { emitter, out } = capture({ fields: ['cost_usd', 'labels', 'id'] }, 80);
    await emitter.list(taskView, TASKS, PAGE);
    expect(`\n${out()}`).toMatchInlineSnapshot(`
      "
      COST USD  LABELS    ID
      $0.0042   bug, a,b  3f2504e04f89
                          3f2504e04f8a
      "
    `);
  });
});

describe('a list on a pipe', () => {
  test('json with --fields has those members in that order', async () => {
    const { emitter, out } = capture({ format: 'json', fields: ['status', 'id'] });
    await emitter.list(taskView, TASKS.slice(1), PAGE);
    expect(out()).toBe(
      '{\n  "items": [\n    {\n      "status": "failed",\n      "id": "3f2504e04f8a41d39a0c0305e82c3302"\n    }\n  ],\n  "has_more": false\n}\n',
    );
  });
});
