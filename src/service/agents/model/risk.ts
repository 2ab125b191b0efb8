/** The risk of commands that delete, publish or send data irreversibly is high. */
import type { Risk } from '../../base/steps.ts';
import { cut } from '../../../base/text/well-formed.ts';

/** Where a command begins; a quoted text is split like a command. */
const BEGINNING = /[;\n|&`()]+|\b(?:ba|da|z)?sh\s+-\w*c\s+/;
const BEFORE = /^(?:["'\s]|\w+=\S*\s|(?:command|env|exec|nohup|time|xargs)\s)+/;
/** The whole workspace, a home, or a folder of the system; not one of /tmp. */
const TREE =
  String.raw`["']?(?:(?:/|~/?|\$\{?HOME\}?["']?/?|\.{1,2}/?)\*?|\*` +
  String.raw`|\.git/?|/(?!tmp/)[^\s/]+(?:/[^\s/]+)?/?)["']?(?=\s|$)`;

const OF_ONE_COMMAND: readonly RegExp[] = [
  new RegExp(String.raw`^rm(?=.*\s-(?:\w*[rR]|-recursive)).*\s${TREE}`),
  new RegExp(String.raw`^ch(?:mod|own)\s+-\w*R.*\s${TREE}`),
  /^(?:mkfs(?:\.\w+)?|shred|wipefs|shutdown|reboot|halt|poweroff|sudo|su|doas)(?:\s|$)/,
  /^dd\s.*\bof=\/dev\//,
  />\s*\/dev\/(?:sd|nvme|hd|vd)/,
  /^git\s(?:.*\s)?push\s(?:.*\s)?(?:-\w*f\b|-d\b|--force|--delete|--mirror|\+\w|:\w)/,
  /^(?:cargo|npm|pnpm|poetry|uv|yarn)\s+publish\b|^twine\s+upload\b|^docker\s+push\b/,
  new RegExp(
    String.raw`^curl(?!.*(?:\blocalhost|\b127\.0\.0\.1|\[::1\]))` +
      String.raw`.*\s(?:-[dFT]|--data|--json|--form|--upload-file)`,
  ),
  /^wget\s.*--post-/,
  /^(?:scp|sftp|rsync)\s.*[^\s/]:|^(?:nc|ncat|netcat)\s/,
  /^(?:mariadb|mysql|psql|sqlite3)\s.*\b(?:DROP|TRUNCATE)\s/i,
];
const OF_ALL: readonly RegExp[] = [
  /\b(?:curl|wget)\s[^;&]*\|\s*(?:sudo\s+)?(?:(?:ba|da|z)?sh|python3?|perl|node)\b/,
  /\b(?:ba|da|z)?sh\s[^;]*(?:<\(|\$\()\s*(?:curl|wget)\s/,
];

export function riskOf(command: string, given: Risk | undefined): Risk | undefined {
  const commands = command.split(BEGINNING).map((each) => cut(each, 2000).replace(BEFORE, ''));
  const isHigh =
    OF_ALL.some((pattern) => pattern.test(cut(command, 20_000))) ||
    commands.some((each) => OF_ONE_COMMAND.some((pattern) => pattern.test(each)));
  return isHigh ? 'HIGH' : given;
}
