/// A setting that is a whole number: its key, its range, and the property that holds it. The default is the property's.
struct NumberSetting: Sendable {
    let key: String
    let range: ClosedRange<Int>
    /// The number in a configuration.
    let read: @Sendable (ServerConfiguration) -> Int
    let write: @Sendable (inout ServerConfiguration, Int) -> Void

    private init(
        _ key: String, _ range: ClosedRange<Int>, read: @escaping @Sendable (ServerConfiguration) -> Int,
        write: @escaping @Sendable (inout ServerConfiguration, Int) -> Void
    ) {
        self.key = key
        self.range = range
        self.read = read
        self.write = write
    }

    private init(
        _ key: String, _ range: ClosedRange<Int>, _ property: any WritableKeyPath<ServerConfiguration, Int> & Sendable
    ) {
        self.init(key, range, read: { $0[keyPath: property] }, write: { $0[keyPath: property] = $1 })
    }

    private init(
        _ key: String, seconds range: ClosedRange<Int>,
        _ property: any WritableKeyPath<ServerConfiguration, Duration> & Sendable
    ) {
        self.init(
            key, range, read: { Int($0[keyPath: property].components.seconds) },
            write: { $0[keyPath: property] = .seconds($1) })
    }

    /// All such settings except the quotas, which ``Quota`` lists, in the order of docs/operations.md.
    static let all: [NumberSetting] = [
        .init(
            "maximumUploadBytes", 1...(1 << 42), read: { Int($0.maximumUploadBytes) },
            write: { $0.maximumUploadBytes = Int64($1) }),
        .init("apiThreads", 1...1_024, \.apiThreads),
        .init("transferThreads", 1...4_096, \.transferThreads),
        .init("maximumTransfersPerUser", 1...4_096, \.maximumTransfersPerUser),
        .init("maximumRequestsPerUser", 1...1_024, \.maximumRequestsPerUser),
        .init(
            "minimumTransferRate", 0...1_048_576, read: { $0.minimumTransferRate ?? 0 },
            write: { $0.minimumTransferRate = $1 == 0 ? nil : $1 }),
        .init("transferGraceTime", seconds: 1...600, \.transferGraceTime),
        .init("databaseConnections", 1...256, \.databaseConnections),
        .init("signInTokenTimeToLive", seconds: 0...86_400, \.signInTokenTimeToLive),
        .init("failedSignInsPerMinute", 1...1_000_000, \.failedSignInsPerMinute),
        .init("refusalsLoggedPerMinute", 1...1_000_000, \.refusalsLoggedPerMinute),
        .init("stagingLifetimeDays", 1...3_650, \.stagingLifetimeDays),
        .init("replacedVersionSeconds", 0...86_400, \.replacedVersionSeconds),
        .init("accountSwitches.minimumGrantAgeDays", 1...90, \.minimumGrantAgeDays),
        .init("accountSwitches.undoDays", 1...60, \.undoDays),
        .init("moveThreads", 0...64, \.moveThreads),
        .init("moveBytesPerSecond", 65_536...1_073_741_824, \.moveBytesPerSecond),
        .init("backup.keepDays", 1...3_650, \.backups.keepDays),
        .init("backup.keepWeeks", 0...520, \.backups.keepWeeks),
        .init("backup.maximumAgeHours", 1...8_760, \.backups.maximumAgeHours),
    ]
}
