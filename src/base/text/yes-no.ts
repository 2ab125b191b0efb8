export const YES_OR_NO = 'answer y, yes, n or no';

export function readYesNo(text: string): 'yes' | 'no' | null {
  const answers = { y: 'yes', yes: 'yes', n: 'no', no: 'no' } as const;
  const answer = text.trim().toLowerCase();
  return Object.hasOwn(answers, answer) ? answers[answer as keyof typeof answers] : null;
}
