/** Which page is shown at which address. */
import { Container, Text, Title } from '@mantine/core';
import { Trans } from '@lingui/react/macro';

export function App() {
  return (
    <Container py="xl" component="main">
      <Title order={1}>Trailgate</Title>
      <Text>
        <Trans>Settings for developers</Trans>
      </Text>
    </Container>
  );
}
