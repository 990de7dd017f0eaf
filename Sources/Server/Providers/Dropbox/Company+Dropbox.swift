public import HTTPTransport

extension Company {
    /// Dropbox: accounts and storage.
    static let dropbox = Company(name: "Dropbox", services: [.dropbox])
}

extension ExternalService {
    public static let dropbox = ExternalService(
        "dropbox", hosts: ["api.dropboxapi.com", "content.dropboxapi.com", ".dropboxapi.com", ".dropbox.com"])
}
