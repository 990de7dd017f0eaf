// SandboxTests
