public import ArgumentParser
import Operations
public import Store
import SyncProtocol

/// Pending work in the outbox.
struct Jobs: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the pending work in the outbox, retries it now, or drops it.",
        subcommands: [JobsList.self, JobsShow.self, JobsRetry.self, JobsDrop.self], defaultSubcommand: JobsList.self)
}

struct JobsList: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists jobs, sorted by number.")

    @OptionGroup var options: CommonOptions
    @OptionGroup var page: PageOptions
    @Option(help: "Only work of this kind.") var kind: OutboxItem.Kind?
    @Option(help: ArgumentHelp("Only work for the user with this number.", valueName: "number")) var user: Int64?
    @Flag(help: "Only work that is due.") var due = false
    @Flag(help: "Only work that has failed at least once.") var failing = false
    @Option(help: ArgumentHelp("Begin after this number.", valueName: "number")) var after: Int64?

    func report() throws -> any Report {
        let installation = try Installation(options)
        let filter = OutboxFilter(kind: kind, user: user.map { UserID($0) }, isDue: due, isFailing: failing)
        let now = installation.now
        let jobs = try installation.store.snapshot { session in
            try session.listOutbox(filter, after: after, limit: page.limit + 1, at: now)
        }
        return Page(jobs, limit: page.limit) { "\($0.jobID)" }
    }
}

struct JobsShow: ReportingCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Shows one job.")

    @OptionGroup var options: CommonOptions
    @Argument(help: ArgumentHelp("The job's number.", valueName: "number")) var job: Int64

    func report() throws -> any Report {
        let installation = try Installation(options)
        let now = installation.now
        let found = try installation.store.snapshot { session in
            try session.listOutbox(OutboxFilter(), after: job == .min ? nil : job - 1, limit: 1, at: now).first
        }
        guard let found, found.jobID == job else {
            throw CommandFailure(.foundSomething, "there is no job \(job); it may have been completed")
        }
        return found
    }
}

/// Which jobs a command applies to.
struct JobSelection: ParsableArguments {
    @Argument(help: ArgumentHelp("The jobs' numbers.", valueName: "number")) var jobs: [Int64] = []
    @Flag(name: .customLong("failing"), help: "All that have failed at least once.") var areFailing = false

    func validate() throws {
        guard jobs.isEmpty == areFailing else {
            throw ValidationError("Name jobs by their numbers, or all with --failing.")
        }
    }

    func numbers(_ installation: Installation) throws -> [Int64] {
        guard areFailing else { return jobs }
        let now = installation.now
        return try installation.store.snapshot { session in
            try session.listOutbox(
                OutboxFilter(isFailing: true), after: nil, limit: PageOptions.maximumLimit, at: now)
        }.map(\.jobID)
    }
}

struct JobsRetry: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Makes postponed work due now.",
        discussion: "Work in progress, and the rows that guard uploads in progress, stay unchanged.")

    @OptionGroup var options: CommonOptions
    @OptionGroup var selection: JobSelection

    func report() throws -> any Report {
        let installation = try Installation(options)
        let now = installation.now
        let outcomes = try selection.numbers(installation).map { job in
            (jobID: job, outcome: try installation.store.transaction { try $0.retryOutbox(job, at: now) })
        }
        return JobOrders(outcomes, done: "due now")
    }
}

struct JobsDrop: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop", abstract: "Discards work permanently.",
        discussion: """
            Objects that a dropped job should have deleted stay in people's storage. Work in progress, and the rows \
            that guard uploads in progress, stay unchanged.
            """)

    @OptionGroup var options: CommonOptions
    @OptionGroup var selection: JobSelection

    func report() throws -> any Report {
        let installation = try Installation(options)
        let now = installation.now
        let outcomes = try selection.numbers(installation).map { job in
            (jobID: job, outcome: try installation.store.transaction { try $0.dropOutbox(job, at: now) })
        }
        return JobOrders(outcomes, done: "dropped")
    }
}

extension OutboxItem.Kind: ExpressibleByArgument {}
