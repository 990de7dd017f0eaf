import SyncProtocol
import Testing

@testable import SyncEngine

@Suite("Many small files in one request")
struct SmallFileTests {
    private static let limits = SmallFileLimits(maximumFiles: 5, maximumFileBytes: 100, maximumBodyBytes: 1 << 20)

    /// A member of a group with queued files of these sizes, numbered from 0, whose sync has read the index.
    private func driver(
        _ sizes: [Int64], support: SmallFileSupport = .limits(limits), texts: [Int: String] = [:], transfers: Int = 1,
        capabilities: ServerCapabilities = .withoutBatches
    ) throws -> Driver {
        var driver = try Driver.member(capabilities: capabilities, maximumTransfers: transfers)
        driver.engine.use(support)
        for (number, size) in sizes.enumerated() {
            try driver.upload(Driver.attributes(number, text: texts[number]), "up\(number)", size: size)
        }
        try driver.sync()
        driver.replyIndex()
        if case .getUploads = driver.waiting?.request { driver.reply(.uploads([])) }
        return driver
    }

    private static let staged = ServerReply.fileStaged(creationDate: Driver.now, updateDate: Driver.now)

    /// The numbers of the files in the requests that wait for a reply; negative for a file that is sent separately.
    private func waiting(_ driver: Driver) -> [[Int]] {
        func number(_ upload: FileUpload) -> Int { Int(upload.fileUUID.rawValue.suffix(2)) ?? -1 }
        return driver.outstanding.map { waiting in
            switch waiting.request {
            case .uploadSmallFiles(let uploads): uploads.map(number)
            case .uploadFile(let upload): [-number(upload) - 1]
            default: []
            }
        }
    }

    @Test("Requests contain as many files as the server accepts, and count as one transfer each")
    func bundles() throws {
        var driver = try driver(Array(repeating: 10, count: 12), transfers: 2)

        #expect(waiting(driver) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]])
        driver.reply(.several(Array(repeating: Self.staged, count: 5)))
        #expect(waiting(driver) == [[5, 6, 7, 8, 9], [10, 11]])
        driver.reply(.several(Array(repeating: Self.staged, count: 5)))
        driver.reply(.several(Array(repeating: Self.staged, count: 2)))

        #expect(driver.commits.count == 1)
        driver.reply(.committed(numberUploadsTransferred: 12))
        #expect(driver.events.filter { if case .singleFileUploadComplete = $0 { true } else { false } }.count == 12)
        #expect(driver.engine.state.items.all.isEmpty)
    }

    @Test("Concurrent requests share the files, unless these are few")
    func shares() throws {
        func numbers(_ files: Int) throws -> [Int] {
            let sizes = [Int64](repeating: 10, count: files)
            return waiting(try driver(sizes, support: .limits(.current), transfers: 4)).map(\.count)
        }
        #expect(try numbers(40) == [32, 8])
        #expect(try numbers(300) == [75, 75, 75, 75])
        #expect(try numbers(1_000) == [128, 128, 128, 128])
    }

    @Test("Four requests are as many as the server's share of a user permits")
    func fourRequests() throws {
        var pace = TransferPace(maximum: 8)
        var ended = 0
        for number in 0..<4 { pace.begin(EngineToken(rawValue: number)) }
        while pace.allowed < 8 {
            pace.end(EngineToken(rawValue: ended), .moved(bytes: 10, files: 5), at: .seconds(ended))
            pace.begin(EngineToken(rawValue: ended + 4))
            ended += 1
        }
        var driver = try driver(Array(repeating: 10, count: 40), transfers: 8)
        driver.engine.uploadPace = pace

        driver.reply(.several(Array(repeating: Self.staged, count: 5)))

        #expect(waiting(driver).map { $0.first } == [5, 10, 15, 20])
    }

    @Test("Larger files, long texts and other changes are sent by themselves, in their order")
    func others() throws {
        let long = String(repeating: "x", count: 2_001)
        var driver = try driver([10, 101, 10, 10, 10, 10], texts: [3: long], transfers: 10)

        #expect(waiting(driver) == [[-1], [-2], [-3], [-4]])
        driver.reply(Self.staged)
        #expect(waiting(driver) == [[-2], [-3], [-4], [4, 5]])
    }

    @Test("The total size of a request is limited, whatever the server accepts")
    func size() throws {
        let large = SmallFileLimits(maximumFiles: 100, maximumFileBytes: 2 << 20, maximumBodyBytes: 1 << 40)
        let driver = try driver(Array(repeating: 1_500_000, count: 6), support: .limits(large), transfers: 10)

        #expect(waiting(driver) == [[0, 1], [2, 3], [4, 5]])
    }

    @Test("The server's limits are requested once, if enough files wait; without support, files are sent one by one")
    func asking() throws {
        var few = try driver(Array(repeating: 10, count: 7), support: .unknown)
        #expect(waiting(few) == [[-1]])
        few.finish()

        for answer in [ServerReply.smallFiles(nil), .failed(.unreachable)] {
            var driver = try driver(Array(repeating: 10, count: 8), support: .unknown)
            #expect(driver.waiting.map { $0.request } == .askForSmallFiles)
            driver.reply(answer)
            #expect(waiting(driver) == [[-1]])
            driver.finish()
            #expect(driver.requests.filter { $0 == .askForSmallFiles }.count == 1)
        }

        var driver = try driver(Array(repeating: 10, count: 8), support: .unknown)
        driver.reply(.smallFiles(Self.limits))
        #expect(waiting(driver) == [[0, 1, 2, 3, 4]])
    }

    @Test("A refused file is treated according to the class of its refusal, and the others are committed")
    func refused() throws {
        var driver = try driver([10, 10, 10])
        let tooLarge = ErrorCode.bodyTooLarge

        driver.reply(
            .several([
                Self.staged, .failed(.refused(status: tooLarge.status, code: tooLarge.rawValue)), Self.staged,
            ]))

        #expect(driver.events.contains { if case .singleFileUploadFailed = $0 { true } else { false } })
        #expect(driver.engine.changesSetAside.map(\.fileUUID) == [Driver.file(1)])
        if case .getUploads = driver.waiting?.request { driver.finish() }
        #expect(driver.commits.count == 1)
    }

    @Test("A full storage holds the files that it refuses, and no further ones are sent together")
    func storageFull() throws {
        var driver = try driver([10, 10, 10, 10, 10, 10, 10])
        let full = ServerReply.failed(
            .refused(status: ErrorCode.cloudQuotaExceeded.status, code: ErrorCode.cloudQuotaExceeded.rawValue))

        driver.reply(.several([Self.staged, Self.staged, full, full, full]))
        driver.finish()

        #expect(driver.engine.waitingChanges().count == 5)
        #expect(driver.commits.count == 1)
    }

    @Test("A stale reply to one file restarts the whole queue")
    func stale() throws {
        var driver = try driver([10, 10, 10])

        driver.reply(.several([Self.staged, .stale(current: MasterVersion(5)), .stale(current: MasterVersion(5))]))

        driver.masterVersion = MasterVersion(5)
        driver.replyIndex()
        driver.reply(.uploads([]))
        #expect(waiting(driver) == [[0, 1, 2]])
    }

    @Test("After a lost reply, or the end of the process, all files of the request are sent again", arguments: [0, 1])
    func lost(how: Int) throws {
        var driver = try driver([10, 10, 10])

        if how == 0 {
            driver.reply(.failed(.unreachable))
            #expect(driver.errors.count == 1)
        } else {
            driver.relaunch()
            driver.engine.use(.limits(Self.limits))
        }
        #expect(!driver.engine.isSyncing)
        try driver.sync()
        driver.replyIndex()
        if case .getUploads = driver.waiting?.request { driver.reply(.uploads([])) }

        #expect(waiting(driver) == [[0, 1, 2]])
        driver.reply(.several([Self.staged, Self.staged, Self.staged]))
        driver.reply(.committed(numberUploadsTransferred: 3))
        #expect(driver.engine.state.items.all.isEmpty)
    }

    @Test("A batch is committed by the request with its last file")
    func batch() throws {
        var driver = try driver([10, 10, 10, 10, 10, 10, 10], capabilities: .all)
        let committed = ServerReply.batchCommitted(
            MasterVersion(2), creationDate: Driver.now, updateDate: Driver.now)

        driver.reply(.several(Array(repeating: Self.staged, count: 5)))
        driver.reply(.several([committed, committed]))

        #expect(driver.commits.isEmpty)
        #expect(driver.engine.state.items.all.isEmpty)
        #expect(driver.engine.state.groups[Driver.group]?.masterVersion == MasterVersion(2))
    }

    @Test("A file that the app withdraws while it is being sent does not end the request of the others")
    func withdrawn() throws {
        var driver = try driver([10, 10, 10])

        driver.perform(try driver.engine.withdraw(Driver.file(1)))
        #expect(driver.cancelled.isEmpty)
        driver.reply(.several([Self.staged, Self.staged, Self.staged]))

        guard case .getUploads = driver.waiting?.request else {
            Issue.record("the withdrawn file must be discarded: \(String(describing: driver.waiting?.request))")
            return
        }
    }
}
