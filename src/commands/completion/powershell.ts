import { SERVER_FLAGS } from './cases.ts';
import { flatten, type CompletionCommand, type CompletionFlag, type Values } from './tree.ts';

export function powershellScript(root: CompletionCommand): string {
  const all = flatten(root);
  return `# PowerShell completion for acs. Generated: acs completion powershell
# To use it: acs completion powershell | Out-String | Invoke-Expression

Register-ArgumentCompleter -Native -CommandName acs -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)

  # Keys with their case: -f and -F are two flags.
  # The command that a word leads to from another: an alias gives the name.
  $children = New-Object System.Collections.Hashtable ([StringComparer]::Ordinal)
${all.flatMap((parent) => parent.commands.flatMap((child) => childLines(parent, child))).join('\n')}
  $commands = New-Object System.Collections.Hashtable ([StringComparer]::Ordinal)
${all
  .filter((command) => command.commands.length > 0)
  .map(
    (command) =>
      `  $commands[${quote(command.path)}] = @(${pairs(command.commands.map((child) => [child.names[0] ?? '', child.description]))})`,
  )
  .join('\n')}
  $flags = New-Object System.Collections.Hashtable ([StringComparer]::Ordinal)
${all.map((command) => `  $flags[${quote(command.path)}] = @(${pairs(flagPairs(command.flags))})`).join('\n')}
  # Words for a flag, the first argument or a further one; for an empty list PowerShell offers files.
  $values = New-Object System.Collections.Hashtable ([StringComparer]::Ordinal)
${valueLines(root, all).join('\n')}

  $at = ${quote(root.path)}
  $flag = $null
  $place = 'argument'
  $server = @()
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
  foreach ($word in $words) {
    if ($flag) {
      if ($flag -cmatch ' (${SERVER_FLAGS.join('|')})$') { $server += @($Matches[1], $word) }
      $flag = $null
      continue
    }
    if ($word.StartsWith('-')) {
      if ($values.ContainsKey("$at $word")) { $flag = "$at $word" }
      elseif ($values.ContainsKey("* $word")) { $flag = "* $word" }
    }
    elseif ($children.ContainsKey("$at $word")) { $at = $children["$at $word"] }
    else { $place = 'further' }
  }

  $found = @()
  if ($flag) { $found = @($values[$flag] | ForEach-Object { , @($_, $_) }) }
  elseif ($wordToComplete.StartsWith('-')) {
    $found = @($flags[$at])
    if ($at -ne ${quote(root.path)}) { $found += @($flags[${quote(root.path)}]) }
  }
  elseif ($commands.ContainsKey($at)) { $found = @($commands[$at]) }
  elseif ($values.ContainsKey("$at $place")) { $found = @($values["$at $place"] | ForEach-Object { , @($_, $_) }) }
  $found | ForEach-Object {
    if ($_[0] -clike 'names:*') {
      acs __complete $_[0].Substring(6) @server 2>$null | ForEach-Object { $name, $title = $_.Split([char[]]@(9), 2); , @($name, $(if ($title) { $title } else { $name })) }
    } else { , $_ }
  } | Where-Object { $_[0].StartsWith($wordToComplete) } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_[0], $_[0], 'ParameterValue', $_[1])
  }
}
`;
}

function childLines(parent: CompletionCommand, child: CompletionCommand): string[] {
  return child.names.map((name) => `  $children[${quote(`${parent.path} ${name}`)}] = ${quote(child.path)}`);
}

function valueLines(root: CompletionCommand, all: CompletionCommand[]): string[] {
  const line = (name: string, values: Values) => `  $values[${quote(name)}] = @(${words(values)})`;
  return [
    ...all.flatMap((command) =>
      command.flags.flatMap(({ names, value }) =>
        value === null ? [] : names.map((name) => line(`${command === root ? '*' : command.path} ${name}`, value)),
      ),
    ),
    ...all.flatMap(({ path, argument, isVariadic }) =>
      argument
        ? (isVariadic ? ['argument', 'further'] : ['argument']).map((place) => line(`${path} ${place}`, argument))
        : [],
    ),
  ];
}

function words(values: Values): string {
  if (values.kind === 'choices') return values.words.map(quote).join(', ');
  return values.kind === 'names' ? quote(`names:${values.of}`) : '';
}

function flagPairs(flags: CompletionFlag[]): [string, string][] {
  return flags.flatMap((flag) => flag.names.map((name): [string, string] => [name, flag.description]));
}

/** A comma before each pair keeps PowerShell from taking a list of pairs apart. An empty text is refused as a tooltip. */
function pairs(list: [string, string][]): string {
  return list.map(([name, description]) => `, @(${quote(name)}, ${quote(description || name)})`).join('; ');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
