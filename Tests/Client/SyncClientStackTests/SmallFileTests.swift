import Foundation
import SyncClient
import TestSupport
import Testing

@Suite("Many small files through the library")
struct SmallFileTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    /// A phone whose app has queued files, each with a different text.
    private func phone(_ count: Int, _ kind: ServerKind = .ours) async throws -> Device {
        let phone = try await Device.signedUp(server, kind)
        phone.executor.sendsParts = true
        phone.executor.forget()
        for number in 0..<count { try phone.upload("file \(number)", text: number % 9 == 0 ? "text \(number)" : nil) }
        return phone
    }

    @Test(
        "Sixty files arrive in few requests, and one by one at an older server", arguments: ServerKind.allCases)
    func fewRequests(kind: ServerKind) async throws {
        let phone = try await phone(60, kind)
        try phone.upload(String(repeating: "long ", count: 60_000))

        let report = try await phone.sync()

        #expect(report.uploaded == 61)
        #expect(phone.executor.count("UploadFile") == (kind == .older ? 61 : 1))
        if kind != .older { #expect(phone.executor.count("UploadSmallFiles") <= 2) }
        let received = try await phone.another().received()
        let short = Set(received.compactMap(\.text).filter { (text: String) in text.count < 20 })
        let expected = Set((0..<60).map { (number: Int) in "file \(number)" })
        #expect(short == expected)
        #expect(received.compactMap(\.attributes.appMetaData).count == 7)
    }

    @Test("A lost reply costs a repetition, and every file is stored once")
    func lostReply() async throws {
        let phone = try await phone(20)
        phone.executor.decide { endpoint, number in
            endpoint == "UploadSmallFiles" && number == 1 ? .losesReply : .passes
        }

        #expect(try await phone.sync().uploaded == 20)

        #expect(phone.executor.count("UploadSmallFiles") == 2)
        #expect(phone.executor.count("UploadFile") == 0)
        #expect(try await phone.another().received().count == 20)
        let objects = try server.sandbox.files(of: phone.user.account).filter { $0.name.hasSuffix(".txt") }
        #expect(objects.count >= 20)
        #expect(Set(objects.map(\.name)).count == objects.count)
    }

    @Test("A process that ends during the request sends the files again after its relaunch")
    func relaunch() async throws {
        let phone = try await phone(20)
        phone.executor.decide { endpoint, _ in endpoint == "UploadSmallFiles" ? .losesReply : .passes }
        await #expect(throws: SyncError.self) { try await phone.sync() }

        let again = try await phone.relaunched()
        again.executor.sendsParts = true

        #expect(try await again.sync().uploaded == 20)
        #expect(try await again.another().received().count == 20)
    }

    @Test("A file of a type that the server does not accept is set aside, and the others arrive")
    func refused() async throws {
        let phone = try await phone(10)
        let file = FileUUID.random()
        try phone.client.uploadImmutable(
            localFile: phone.file(Data("unknown".utf8)),
            withAttributes: phone.attributes(file, type: "application/x-unknown"))

        let report = try await phone.sync()

        #expect(report.uploaded == 10)
        #expect(report.failed.map(\.fileUUID) == [file])
        #expect(try await phone.another().received().count == 10)
    }
}
