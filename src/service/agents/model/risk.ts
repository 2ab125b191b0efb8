/** A command that destroys or sends away what cannot be brought back is of high risk, whatever the model says. */
import type { Risk } from '../steps.ts';

const DESTRUCTIVE: readonly RegExp[] = [
  /\brm\s+(?:-\S+\s+)*-\S*[rR]\S*\s+(?:\S+\s+)*(?:\/|~|\$HOME|\/\*|\.\.?|\*)(?:\s|\/?$|;|&|\|)/,
  /\b(?:mkfs(?:\.\w+)?|shred|wipefs)\s/,
  /\bdd\b[^|;&]*\bof=\/dev\//,
  />\s*\/dev\/(?:sd|nvme|hd|vd)/,
  /\bgit\s+push\b[^|;&]*(?:\s-\S*f\b|--force|--delete|--mirror)/,
  /\b(?:curl|wget)\b[^|;&]*\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b/,
  /\bcurl\b[^|;&]*(?:\s-d|\s--data\S*|\s-F|\s-T|--upload-file)[= ]?@?/,
  /\b(?:sudo|su|doas)\s/,
  /\bchmod\s+(?:-\S+\s+)*(?:777|a\+w)\s+\//,
  /\b(?:shutdown|reboot|halt|poweroff)\b/,
  /\bDROP\s+(?:TABLE|DATABASE|SCHEMA)\b/i,
  /:\s*\(\)\s*\{[^}]*:\s*\|\s*:/,
];

export function riskOf(command: string, given: Risk | undefined): Risk | undefined {
  return DESTRUCTIVE.some((pattern) => pattern.test(command)) ? 'HIGH' : given;
}
