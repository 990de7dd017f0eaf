import HTTPTransport
import HTTPTypes

/// Searches with Drive's query language (Drive API, "Search query terms and operators").
enum DriveQuery {
    /// `text` as a literal of the query language.
    static func literal(_ text: String) -> String {
        var escaped = "'"
        // Scalar by scalar: a quote with a combining accent is one character, and a quote all the same.
        for scalar in text.unicodeScalars {
            if scalar == "'" || scalar == "\\" { escaped.unicodeScalars.append("\\") }
            escaped.unicodeScalars.append(scalar)
        }
        return escaped + "'"
    }

    /// All files that match, the one created first at the front; equal times are ordered by identifier, so that every
    /// process makes the same choice among duplicates.
    static func list(_ query: String, with client: inout ProviderClient) throws(CloudStorageError) -> [DriveFile] {
        var found: [DriveFile] = []
        try pages(query, with: &client) { page in
            found += page
            return found.count < 1_000
        }
        return found.sorted { ($0.createdTime ?? "", $0.id) < ($1.createdTime ?? "", $1.id) }
    }

    /// Hands over the files that match, a page at a time, in no particular order, as long as `goesOn` returns true.
    static func pages(
        _ query: String, with client: inout ProviderClient, goesOn: ([DriveFile]) -> Bool
    ) throws(CloudStorageError) {
        var pageToken: String?
        repeat {
            var items = [
                (name: "q", value: query), (name: "spaces", value: "drive"), (name: "corpora", value: "user"),
                (name: "pageSize", value: "100"),
                (name: "fields", value: "nextPageToken,files(\(DriveFile.fields))"),
                (name: "includeItemsFromAllDrives", value: "true"),
            ]
            items += GoogleDrive.allDrives
            if let pageToken { items.append((name: "pageToken", value: pageToken)) }
            let url = OutgoingRequest.url(GoogleDrive.files, items)
            let page = try ProviderJSON.decode(
                DriveFileList.self, try client.send(OutgoingRequest(.google, .metadata, .get, url)).body)
            guard goesOn(page.files) else { return }
            pageToken = page.nextPageToken
        } while pageToken != nil
    }
}
