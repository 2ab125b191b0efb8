/** A number of bytes for people: `1.2 MB`. */
export function byteSize(bytes: number): string {
  let amount = bytes;
  for (const unit of ['B', 'kB', 'MB', 'GB']) {
    if (amount < 1000) return `${unit === 'B' || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${unit}`;
    amount /= 1000;
  }
  return `${amount.toFixed(1)} TB`;
}
