import { describe, expect, test } from 'vitest';
import { capture, TASKS, taskView } from './capture.ts';

const PAGE = { has_more: false };

describe('a list on a terminal', () => {
  test('has a header, two spaces between columns and whole cells where they fit, at 120 columns', async () => {
    const { emitter, out } = capture({}, 120);
    await emitter.list(taskView, TASKS, PAGE);
    expect(`\n${out()}`).toMatchInlineSnapshot(`
      "
      ID            TITLE                                                                    STATUS   CREATED AT
      3f2504e04f89  Repair the parser of 日本語 dates 👩‍👩‍👧‍👦 and explain what was wrong with it  running  3m ago
      3f2504e04f8a  évil \\x1b[2J\\x9b31m \\u202egpj.exe tab line \\ end                         failed   2025-12-24
      "
    `);
  });

  test('cuts the columns that may be cut, at 80 columns', async () => {
    const { emitter, out } = capture({}, 80);
    await emitter.list(taskView, TASKS, PAGE);
    expect(`\n${out()}`).toMatchInlineSnapshot(`
      "
      ID            TITLE                                          STATUS   CREATED AT
      3f2504e04f89  Repair the parser of 日本語 dates 👩‍👩‍👧‍👦 and exp…  running  3m ago
      3f2504e04f8a  évil \\x1b[2J\\x9b31m \\u202egpj.exe tab line \\…  failed   2025-12-24
      "
    `);
  });

  test('keeps id, status and time whole at 40 columns', async () => {
    const { emitter, out } = capture({}, 40);
    await emitter.list(taskView, TASKS, PAGE);
    expect(`\n${out()}`).toMatchInlineSnapshot(`
      "
      ID            TITLE  STATUS   CREATED AT
      3f2504e04f89  Repa…  running  3m ago
      3f2504e04f8a  évil…  failed   2025-12-24
      "
    `);
  });

  test('leaves columns out when they do not fit', async () => {
    const { emitter, out } = capture({}, 14);
    await emitter.list(taskView, TASKS, PAGE);
    expect(`\n${out()}`).toMatchInlineSnapshot(`
      "
      ID
      3f2504e04f89
      3f2504e04f8a
      "
    `);
  });

  test('leaves empty columns out before it cuts others', async () => {
    const tasks = TASKS.map((task) => ({ ...task, status: '' }));
    const { emitter, out } = capture({}, 40);
    await emitter.list(taskView, tasks, PAGE);
    expect(`\n${out()}`).toMatchInlineSnapshot(`
      "
      ID            TITLE           CREATED AT
      3f2504e04f89  Repair the pa…  3m ago
      3f2504e04f8a  évil \\x1b[2J\\…  2025-12-24
      "
    `);
    const wide = capture({}, 120);
    await wide.emitter.list(taskView, tasks, PAGE);
    expect(wide.out()).toContain('STATUS');
  });
});
