internal import ArgumentParser

SandboxCommand.main()
