/** An error where it happened, with what to do and the number that support asks for. */
import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core';
import { Trans } from '@lingui/react/macro';
import { ApiProblem } from '../api/problem.js';
import { useProblemWords } from './problems.js';

interface FailureProps {
  readonly error: unknown;
  /** Tries again, where that is more than a press on the form's own button. */
  readonly again?: (() => void) | undefined;
}

export function Failure({ error, again }: FailureProps) {
  const { title, advice } = useProblemWords()(error);
  return (
    <Alert color="red" variant="light" title={title} role="alert">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{advice}</Text>
        {error instanceof ApiProblem && error.requestId !== undefined && error.status >= 500 && (
          <Group gap="xs">
            <Text size="sm">
              <Trans>Number for support</Trans>
            </Text>
            <Code>{error.requestId}</Code>
          </Group>
        )}
        {again !== undefined && (
          <Button size="xs" variant="default" onClick={again}>
            <Trans>Try again</Trans>
          </Button>
        )}
      </Stack>
    </Alert>
  );
}
