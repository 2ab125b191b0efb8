/** `$0.18`; with four digits below a cent, so that a small amount is not shown as none. */
export function formatUsd(amount: number): string {
  return `$${amount.toFixed(amount !== 0 && Math.abs(amount) < 0.01 ? 4 : 2)}`;
}
