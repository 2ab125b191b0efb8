/** Flags that contradict each other, e.g. `--wait --no-wait`: commander keeps the last one and reports nothing. */
import type { Command, Option } from 'commander';
import { AppError } from '../errors.ts';

/** Options that set what another one sets, by their attribute. */
const SAME_AS: Readonly<Record<string, string>> = { timeout: 'waitTimeout', R: 'repo' };

/**
 * Notes the flags of the tree as commander reads them.
 * @returns throws `usage` when two different flags of one setting were given; to be called before the action
 */
export function watchContradictions(root: Command): () => void {
  const given = new Set<Option>();
  const groups = settingsBelow(root);
  for (const { command, options } of groups)
    for (const option of options) command.on(`option:${option.name()}`, () => void given.add(option));
  return () => {
    for (const { options } of groups) {
      const [one, other] = options.filter((option) => given.has(option));
      if (one === undefined || other === undefined) continue;
      throw new AppError('usage', `${flagOf(one)} and ${flagOf(other)} exclude each other`);
    }
  };
}

/** The settings of a tree of commands that more than one flag sets. */
function settingsBelow(command: Command): { command: Command; options: Option[] }[] {
  const bySetting = new Map<string, Option[]>();
  for (const option of command.options) {
    const attribute = option.attributeName();
    const setting = SAME_AS[attribute] ?? attribute;
    bySetting.set(setting, [...(bySetting.get(setting) ?? []), option]);
  }
  const own = [...bySetting.values()].filter(({ length }) => length > 1).map((options) => ({ command, options }));
  return [...own, ...command.commands.flatMap(settingsBelow)];
}

function flagOf(option: Option): string {
  return option.long ?? option.short ?? option.name();
}
