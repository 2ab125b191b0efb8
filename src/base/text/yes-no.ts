export const YES_OR_NO = 'answer y, yes, n or no';

const ANSWERS = new Map<string, 'yes' | 'no'>([
  ['y', 'yes'],
  ['yes', 'yes'],
  ['n', 'no'],
  ['no', 'no'],
]);

export function readYesNo(text: string): 'yes' | 'no' | null {
  return ANSWERS.get(text.trim().toLowerCase()) ?? null;
}
