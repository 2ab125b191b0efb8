# PowerShell completion for acs; to use it: acs completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName acs -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @(
    $commandAst.CommandElements |
      Select-Object -Skip 1 |
      Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
      ForEach-Object { $_.ToString() }
  )
  # PowerShell before 7.3 passes no empty argument to a program: a space stands for it.
  $last = if ($wordToComplete) { $wordToComplete } else { ' ' }
  acs __complete -- @words $last 2>$null |
    Where-Object { $_ -and $_ -ne ':files' } |
    ForEach-Object {
      $word, $description = $_.Split([char[]]@(9), 2)
      $tooltip = if ($description) { $description } else { $word }
      [System.Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $tooltip)
    }
}
