/**
 * Error box that says what happened and what to do. For server errors, the box also shows the request ID for support.
 */
import { Alert, Button, Code, Group, List, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { ApiProblem, type RefusedField } from '../api/problem.js';
import { useFieldLabel } from './fields.js';
import { useProblemText } from './problems.js';
import { useReasonText } from './reasons.js';

interface FailureProps {
  readonly error: unknown;
  /** Rejected fields whose error the form already shows at the field. The box lists the remaining rejected fields. */
  readonly atFields?: readonly RefusedField[];
  /** Retries the failed request. Without this function, the box has no retry button. */
  readonly again?: (() => void) | undefined;
}

/** Error codes for invalid input. For these codes, the box lists the rejected fields. */
const REFUSED_INPUT: readonly string[] = ['validation_failed', 'invalid_parameter', 'bad_request'];

export function Failure({ error, atFields = [], again }: FailureProps) {
  if (error instanceof ApiProblem && REFUSED_INPUT.includes(error.code))
    return <RefusedInput error={error} atFields={atFields} />;
  return <OtherFailure error={error} again={again} />;
}

function RefusedInput({ error, atFields }: { readonly error: ApiProblem; readonly atFields: readonly RefusedField[] }) {
  const { t } = useLingui();
  const reason = useReasonText();
  const name = useFieldLabel();
  const others = error.fields.filter((each) => !atFields.includes(each));
  const title = atFields.length > 0 ? t`Check the highlighted fields.` : t`The server rejected these values.`;
  return (
    <Alert color="red" variant="light" title={title} role="alert">
      {error.fields.length === 0 && (
        <Text size="sm" className="name" data-reason>
          {error.message}
        </Text>
      )}
      {others.length > 0 && (
        <List size="sm" data-reason>
          {others.map((each, index) => (
            <List.Item key={index} className="name">
              {each.field === '' || each.field === '#' ? '' : `${name(each.field.split('/')[0] ?? '')}: `}
              {reason(each)}
            </List.Item>
          ))}
        </List>
      )}
    </Alert>
  );
}

function OtherFailure({ error, again }: Pick<FailureProps, 'error' | 'again'>) {
  const { title, advice } = useProblemText()(error);
  return (
    <Alert color="red" variant="light" title={title} role="alert">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{advice}</Text>
        {error instanceof ApiProblem && error.requestId !== undefined && error.status >= 500 && (
          <Group gap="xs">
            <Text size="sm">
              <Trans>Reference</Trans>
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
