/**
 * Page that predicts whether a request of a key would be allowed now, and explains each check. The page sends no
 * request to a backend and counts nothing.
 */
import { Alert, Badge, Button, Card, Code, Group, Progress, Stack, Table, Text, Title } from '@mantine/core';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { components } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { useOperations } from '../api-keys/example-url.js';
import { operationOptions } from '../api-keys/operation-options.js';
import { useKeyChoice } from './key-choice.js';
import { Form } from '../layout/form.js';
import { FormSelect, FormText } from '../layout/form-fields.js';
import { Icon } from '../layout/icons.js';
import { Page } from '../layout/page.js';
import { useAccount } from '../session/accounts.js';
import { useCodeText } from '../words/codes.js';
import { parsePolicy, useLimitLabels } from '../words/limits.js';
import { useFormats } from '../words/times.js';

type Explanation = components['schemas']['Explanation'];

export function ExplainPage() {
  const { t } = useLingui();
  const { id } = useAccount();
  const [key, setKey] = useState<string | null>(null);
  const [operation, setOperation] = useState<string | null>(null);
  const [address, setAddress] = useState('');
  const keys = useKeyChoice(id, { sort: 'last_used', order: 'desc' }, key);
  const operations = useOperations();
  const explain = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST('/admin/v1/explain', {
          body: {
            api_key_id: key ?? '',
            ...(operation === null ? {} : { operation }),
            ...(address.trim() === '' ? {} : { client_address: address.trim() }),
          },
        }),
      ),
  });
  return (
    <Page
      title={t`Explain`}
      description={<Trans>See whether a request would be allowed right now. Nothing is sent or counted.</Trans>}
    >
      <Card>
        <Form
          error={explain.error}
          checks={{
            api_key_id: key === null && t`Choose a key.`,
            operation: operation === null && t`Choose an operation.`,
          }}
          onSubmit={() => explain.mutate()}
          footer={
            <Group>
              <Button type="submit" loading={explain.isPending}>
                <Trans>Explain</Trans>
              </Button>
            </Group>
          }
        >
          <FormSelect
            field="api_key_id"
            label={t`Key`}
            required
            withAsterisk={false}
            {...keys.props}
            onChange={setKey}
          />
          <FormSelect
            field="operation"
            label={t`Operation`}
            required
            withAsterisk={false}
            searchable
            data={operationOptions(operations.data?.data ?? [])}
            value={operation}
            onChange={setOperation}
          />
          <FormText
            field="client_address"
            label={t`Source IP`}
            description={t`Leave empty to use an allowed IP.`}
            placeholder="203.0.113.7"
            value={address}
            onChange={(event) => setAddress(event.currentTarget.value)}
          />
        </Form>
      </Card>
      {explain.data !== undefined && <Verdict explanation={explain.data} />}
    </Page>
  );
}

function Verdict({ explanation }: { readonly explanation: Explanation }) {
  const { t } = useLingui();
  const words = useCodeText();
  const { answer, limits } = explanation;
  const codeWords = words(answer.code ?? '');
  const cost = explanation.cost;
  return (
    <Card role="status">
      <Stack gap="md">
        {answer.admitted ? (
          <Alert color="river" variant="light" icon={<Icon name="check" />} title={t`Allowed`}>
            <Plural value={cost} one="Uses # request." other="Uses # requests." />
          </Alert>
        ) : (
          <Alert color="orange" variant="light" icon={<Icon name="warn" />} title={codeWords?.means ?? t`Rejected`}>
            <Stack gap={6}>
              {codeWords !== undefined && <Text size="sm">{codeWords.advice}</Text>}
              <Code w="fit-content">
                {answer.status} {answer.code}
              </Code>
            </Stack>
          </Alert>
        )}
        <Steps steps={explanation.steps} />
        {limits.length > 0 && <Limits limits={limits} />}
      </Stack>
    </Card>
  );
}

/** Steps lists the gateway's checks in their order, including the checks after the first failing check. */
function Steps({ steps }: { readonly steps: Explanation['steps'] }) {
  const { t } = useLingui();
  const words = useCodeText();
  const names = {
    route: t`Operation exists`,
    key: t`Key is valid for this IP`,
    scope: t`Key has permission`,
    quota: t`Within limits`,
  };
  const verdicts = { passes: t`Yes`, refuses: t`No`, unknown: t`Unknown` };
  return (
    <div>
      <Title order={2} pb="xs">
        <Trans>Checks</Trans>
      </Title>
      <Stack gap={10} component="ol" className="plain-list">
        {steps.map(({ step, verdict, code }) => (
          <Group key={step} component="li" gap="sm" wrap="nowrap" align="flex-start">
            <Badge
              variant="light"
              color={{ passes: 'river', refuses: 'orange', unknown: 'gray' }[verdict]}
              style={{ flexShrink: 0 }}
            >
              {verdicts[verdict]}
            </Badge>
            <Text size="sm">
              {names[step]}
              {code !== null && (
                <Text span c="dimmed" size="sm">
                  {' '}
                  · {words(code)?.means ?? code}
                </Text>
              )}
            </Text>
          </Group>
        ))}
      </Stack>
    </div>
  );
}

function Limits({ limits }: { readonly limits: Explanation['limits'] }) {
  const { number, relative } = useFormats();
  const words = useLimitLabels();
  const label = (policy: Explanation['limits'][number]['policy']): string => {
    const { owner, period } = parsePolicy(policy);
    return words[period].decision[owner];
  };
  return (
    <div>
      <Title order={2} pb="xs">
        <Trans>Limits that apply</Trans>
      </Title>
      <Table fz="sm">
        <Table.Tbody>
          {limits.map((limit) => (
            <Table.Tr key={limit.policy}>
              <Table.Td>{label(limit.policy)}</Table.Td>
              <Table.Td>
                <Trans>
                  {number(limit.used)} of {number(limit.limit)}
                </Trans>
                <Progress
                  mt={4}
                  size="sm"
                  value={limit.limit === 0 ? 100 : (limit.used / limit.limit) * 100}
                  color={limit.refuses ? 'red' : 'river'}
                  aria-label={label(limit.policy)}
                />
              </Table.Td>
              <Table.Td ta="end">{relative(limit.resets_at)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}
