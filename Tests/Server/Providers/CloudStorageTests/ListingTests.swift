import HTTPTransport
import Providers
import TestSupport
import Testing

@Suite("Listing a folder, page by page")
struct ListingTests {
    private func names(_ provider: some CloudProvider, _ storage: ScriptedStorage) throws -> [String] {
        var names: [String] = []
        try provider.list(in: storage.access()) { names += $0.map(\.name) }
        return names
    }

    @Test("Drive: until the last page, without folders")
    func drive() throws {
        let storage = ScriptedStorage(
            Reply(200, #"{"nextPageToken": "N 2", "files": [{"id": "1", "name": "a"}]}"#),
            Reply(
                200,
                """
                {"files": [{"id": "2", "name": "folder", "mimeType": "application/vnd.google-apps.folder"},
                           {"id": "3", "name": "b", "mimeType": "text/plain"}]}
                """))
        #expect(storage.folder.replace(nil, by: "F") == "F")

        #expect(try names(GoogleDrive(), storage) == ["a", "b"])
        #expect(storage.transport.requests.count == 2)
        #expect(storage.transport.requests.last?.url.contains("pageToken=N%202") == true)
    }

    @Test("Dropbox: while `has_more` is true, files only")
    func dropbox() throws {
        let file = #"{".tag": "file", "id": "id:A", "name": "a", "size": 1, "rev": "1", "content_hash": "00"}"#
        let storage = ScriptedStorage(
            Reply(200, #"{"entries": [\#(file)], "cursor": "C 1", "has_more": true}"#),
            Reply(
                200, #"{"entries": [{".tag": "folder", "id": "id:B", "name": "b"}], "cursor": "C2", "has_more": false}"#
            ))

        #expect(try names(Dropbox(), storage) == ["a"])
        #expect(storage.transport.requests.map(\.bodyText) == [#"{"path":""}"#, #"{"cursor":"C 1"}"#])
    }

    @Test("OneDrive: follows its links, but not to another host")
    func oneDrive() throws {
        func page(next: String) -> Reply {
            Reply(
                200,
                #"{"value": [{"id": "1", "name": "a", "file": {}}, {"id": "2", "name": "b"}], "@odata.nextLink": "\#(next)"}"#
            )
        }
        let next = "https://graph.microsoft.com/v1.0/me/drive/special/approot/children?$skiptoken=1"
        let storage = ScriptedStorage(
            page(next: next), Reply(200, #"{"value": [{"id": "3", "name": "c", "file": {}}]}"#))

        #expect(try names(OneDrive(), storage) == ["a", "c"])
        #expect(storage.transport.requests.last?.url == next)

        for foreign in ["https://graph.microsoft.com.evil.example/x", "http://graph.microsoft.com/x"] {
            let led = ScriptedStorage(page(next: foreign))
            #expect(throws: CloudStorageError.unavailable(detail: "")) { try names(OneDrive(), led) }
            #expect(led.transport.requests.count == 1)
        }
    }
}
